# id: policy-carriage-return
# category: policy
# profile: strict
# threat: a lone carriage return ends a comment for the parser and not for a line reader
# expect: refused
# harmless @CR@import os; os.system('echo ESC""APED:'); print('ESC' + 'APED:')
