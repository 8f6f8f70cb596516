# id: policy-subclasses-walk
# category: policy
# profile: strict
# threat: walks from a literal to every class of the interpreter
# expect: refused
for c in ().__class__.__bases__[0].__subclasses__():
    if c.__name__ == 'Popen':
        c(['/bin/echo', 'ESC' + 'APED:'])
    if c.__name__ == 'BuiltinImporter':
        c.load_module('posix').system('echo ESC""APED:')
        print('ESC' + 'APED:')
