# id: policy-getattr-built-name
# category: policy
# profile: strict
# threat: builds a forbidden attribute name at run time
# expect: refused error
base = getattr((), '__cl' + 'ass__')
obj = getattr(base, '__ba' + 'se__')
subs = getattr(obj, '__subcl' + 'asses__')()
for c in subs:
    if getattr(c, '__na' + 'me__') == 'BuiltinImporter':
        getattr(c, 'load_' + 'module')('posix').system('echo ESC""APED:')
        print('ESC' + 'APED:')
