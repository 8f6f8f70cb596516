# id: policy-vars-and-dir
# category: policy
# profile: strict
# threat: reads class dictionaries with vars instead of attributes
# expect: refused error
t = vars(type)['__subcl' + 'asses__']
o = vars(type)['__ba' + 'se__']
subs = t(o.__get__(int))
print('ESC' + 'APED:', [c for c in subs if 'Importer' in str(c)])
