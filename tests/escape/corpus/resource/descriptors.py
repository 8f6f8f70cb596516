# id: resource-descriptors
# category: resource
# profile: open
# threat: opens descriptors until something gives way
# expect: success error
import os
n = 0
try:
    while n < 100000:
        os.dup(0)
        n += 1
except OSError as e:
    print('stopped', e.errno)
print(n)
if n > 4096:
    print('ESC' + 'APED:', n)
