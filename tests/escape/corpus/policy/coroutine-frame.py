# id: policy-coroutine-frame
# category: policy
# profile: strict
# threat: climbs out through a coroutine's and an async generator's frame
# expect: refused
async def c():
    pass
async def a():
    yield 1
k = c()
print('ESC' + 'APED:', k.cr_frame.f_builtins, k.cr_code)
print('ESC' + 'APED:', a().ag_frame.f_globals)
