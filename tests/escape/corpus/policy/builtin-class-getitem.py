# id: policy-builtin-class-getitem
# category: policy
# profile: strict
# threat: makes subscription and operators call a blocked builtin
# expect: refused
class E:
    __class_getitem__ = exec
    __add__ = exec
    __getattr__ = exec
E["print('ESC' + 'APED:')"]
E() + "print('ESC' + 'APED:')"
