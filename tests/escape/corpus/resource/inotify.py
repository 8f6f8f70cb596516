# id: resource-inotify
# category: resource
# profile: open
# threat: takes all inotify instances of the host's user, who has 128
# expect: success
# require: few
import ctypes
libc = ctypes.CDLL(None)
n = 0
while n < 100 and libc.inotify_init() >= 0:
    n += 1
print('few' if n <= 16 else 'ESC' + 'APED:', n)
