# id: policy-generator-frame
# category: policy
# profile: strict
# threat: climbs out through a generator's frame, whose names have no underscores in front
# expect: refused
def g():
    yield q.gi_frame.f_back.f_back.f_globals
q = g()
print('ESC' + 'APED:', [x for x in q])
