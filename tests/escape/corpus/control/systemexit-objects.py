# id: control-systemexit-objects
# category: control
# profile: strict
# threat: SystemExit with a code that is no number
# expect: error
class C:
    def __int__(self):
        return 0
    def __str__(self):
        return 'bye'
    def __eq__(self, o):
        return True
raise SystemExit(C())
