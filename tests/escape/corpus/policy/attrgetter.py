# id: policy-attrgetter
# category: policy
# profile: strict
# threat: lets operator.attrgetter walk a dotted path of dunders
# expect: refused error
import operator
walk = operator.attrgetter('__cla' + 'ss__.__ba' + 'se__.__subcl' + 'asses__')
for c in walk(())():
    if operator.attrgetter('__na' + 'me__')(c) == 'BuiltinImporter':
        operator.methodcaller('load_' + 'module', 'posix')(c).system('echo ESC""APED:')
        print('ESC' + 'APED:')
