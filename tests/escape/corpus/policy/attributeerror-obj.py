# id: policy-attributeerror-obj
# category: policy
# profile: strict
# threat: takes the object out of an AttributeError that a format field raised
# expect: refused error
try:
    '{0.f_nope.x}'.format(lambda: 0)
except AttributeError as e:
    o = e.obj
    print('ESC' + 'APED:', o.__globals__)
