# id: policy-string-formatter
# category: policy
# profile: strict
# threat: string.Formatter resolves attributes by itself
# expect: refused error
import string
obj, _ = string.Formatter().get_field('0.__glo' + 'bals__', (lambda: 0,), {})
print('ESC' + 'APED:', obj['__built' + 'ins__'])
print(string.Formatter().vformat('{0.__class__.__base__.__subclasses__}', ((),), {}))
