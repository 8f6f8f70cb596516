# id: policy-display-compile-window
# category: policy
# profile: strict
# threat: leaves garbage whose finalizers run, with luck, while our own text is being compiled and nobody looks
# expect: success
# require: done
import pandas as pd

class Cycle:
    def __init__(self):
        self.me = self
    def __del__(self):
        try:
            pd.eval("__imp" + "ort__('o' 's').getpid()", engine='python')
            print('ESC' + 'APED: evaluated')
        except BaseException:
            pass

for i in range(3000):
    Cycle()
    if i % 1000 == 0:
        display(pd.DataFrame({'a': [i]}))
print('done')
