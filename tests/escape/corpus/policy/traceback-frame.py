# id: policy-traceback-frame
# category: policy
# profile: strict
# threat: climbs from an exception to the frames of the runner
# expect: refused
try:
    1 / 0
except ZeroDivisionError as e:
    f = e.__traceback__.tb_frame
    while f.f_back:
        f = f.f_back
    print('ESC' + 'APED:', f.f_globals, f.f_builtins)
