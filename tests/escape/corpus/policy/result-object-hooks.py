# id: policy-result-object-hooks
# category: policy
# profile: strict
# threat: leaves an object as result whose conversion runs code with the runner's rights
# expect: success
class R:
    def __repr__(self):
        raise SystemExit(0)
    def __str__(self):
        while True:
            pass
    def __del__(self):
        print('gone')
    def __eq__(self, o):
        raise KeyboardInterrupt
    def __hash__(self):
        return 1 // 0
result = R()
