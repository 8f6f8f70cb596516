# id: policy-with-traceback
# category: policy
# profile: strict
# threat: __exit__ receives the traceback without asking for an attribute
# expect: refused error
class C:
    def __enter__(self):
        return self
    def __exit__(self, t, v, tb):
        f = tb.tb_frame
        b = f.f_builtins
        b['ev' + 'al']("print('ESC' + 'APED:')")
        return True
with C():
    1 / 0
