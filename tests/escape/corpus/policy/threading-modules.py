# id: policy-threading-modules
# category: policy
# profile: strict
# threat: allowed thread modules carry os and sys with them
# expect: refused error
import threading
print('ESC' + 'APED:', threading._os.listdir('/'), threading._sys.modules)
