# id: policy-print-to-file
# category: policy
# profile: strict
# threat: print with a file argument that has a write method of its own, and a file object found on sys
# expect: refused error
class F:
    def write(self, s):
        return eval(s)
print("print('ESC' + 'APED:')", file=F(), end='')
