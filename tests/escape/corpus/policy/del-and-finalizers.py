# id: policy-del-and-finalizers
# category: policy
# profile: strict
# threat: blocked names inside finalizers, which run when nobody looks
# expect: refused
class D:
    def __del__(self):
        __import__('os').system('echo ESC""APED:')
D()
