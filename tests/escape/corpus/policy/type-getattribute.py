# id: policy-type-getattribute
# category: policy
# profile: strict
# threat: goes through object.__getattribute__ and type.__getattribute__ instead of the dot
# expect: refused error
subs = type.__getattribute__(object, '__subcl' + 'asses__')()
print('ESC' + 'APED:', object.__getattribute__(subs[0], '__na' + 'me__'))
