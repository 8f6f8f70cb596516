# id: policy-pickle-loads
# category: policy
# profile: strict
# threat: unpickles a call
# expect: refused
import pickle
pickle.loads(b"cposix\nsystem\n(S'echo ESC\"\"APED:'\ntR.")
print('ESC' + 'APED:')
