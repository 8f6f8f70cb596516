# id: policy-match-class-pattern
# category: policy
# profile: strict
# threat: reads dunder attributes with a class pattern, which has no attribute node
# expect: refused
match lambda: 0:
    case object(__globals__=g):
        print('ESC' + 'APED:', g['__built' + 'ins__'])
match ():
    case object(__class__=c):
        match c:
            case object(__base__=b):
                print('ESC' + 'APED:', b)
