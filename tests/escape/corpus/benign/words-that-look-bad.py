# id: benign-words-that-look-bad
# category: benign
# profile: strict
# threat: none: words that only look forbidden
# expect: success
# require: evaluation 3
evaluation = 3
open_orders = ['import os', 'eval(x)', '__import__']
class Compiler:
    def compile(self):
        return 'compiled'
    def execute(self):
        return 'executed'
class Exec:
    input = 5
print('evaluation', evaluation, Compiler().compile(), Exec.input, '{} {name}'.format(1, name='x'), 'os.system("rm -rf /")', open_orders)
