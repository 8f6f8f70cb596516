# id: policy-reload-library
# category: policy
# profile: strict
# threat: a module of the library is loaded again, without what the policy has replaced in it
# expect: refused error
# limits: timeout=10 memory=512
import importlib
import operator
importlib.reload(operator)
print("ESC" + "APED:", operator.attrgetter("__glo" + "bals__")(importlib.import_module))
