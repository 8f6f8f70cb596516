# id: policy-except-star
# category: policy
# profile: strict
# threat: an exception group hands over a traceback
# expect: refused
try:
    raise ExceptionGroup('g', [ValueError(1)])
except* ValueError as e:
    print('ESC' + 'APED:', e.exceptions[0].__traceback__, e.__traceback__.tb_frame)
