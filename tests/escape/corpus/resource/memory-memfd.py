# id: resource-memory-memfd
# category: resource
# profile: open
# threat: memory files that belong to no mount
# expect: success error memory_exceeded
# limits: memory=128 timeout=20
import os
n = 0
try:
    fds = []
    for k in range(10):
        fds.append(os.memfd_create('x'))
        for i in range(50):
            os.write(fds[-1], bytes(1 << 20))
            n += 1
except OSError as e:
    print('stopped', e.errno)
print(n)
if n > 150:
    print('ESC' + 'APED:', n)
