# id: kernel-dumpable
# category: kernel
# profile: open
# threat: makes itself dumpable, which opens its own page tables and lets others look into it
# expect: success error
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for value in (1, 2):
    if libc.prctl(4, value, 0, 0, 0) == 0:
        print('ESC' + 'APED: dumpable', value)
print('now', libc.prctl(3, 0, 0, 0, 0))
if libc.prctl(3, 0, 0, 0, 0) != 0:
    print('ESC' + 'APED: it is dumpable')
