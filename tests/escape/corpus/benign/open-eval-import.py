# id: benign-open-eval-import
# category: benign
# profile: open
# threat: none: everything Python can do
# expect: success
# require: 3
import importlib, pickle, ctypes
print(eval('1+2'), importlib.import_module('json').dumps([1]), pickle.loads(pickle.dumps({'a': 1})), ctypes.sizeof(ctypes.c_long))
exec('x = 5')
print(x, type.mro(int), (lambda: 0).__code__.co_name)
