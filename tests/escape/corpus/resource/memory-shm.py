# id: resource-memory-shm
# category: resource
# profile: open
# threat: fills /dev/shm
# expect: success error memory_exceeded
# limits: memory=128 disk=32 timeout=20
import os
n = 0
with open('/dev/shm/x', 'wb') as f:
    try:
        for i in range(400):
            f.write(bytes(1 << 20))
            f.flush()
            n += 1
    except OSError as e:
        print('stopped', e.errno)
print(n)
if n > 130:
    print('ESC' + 'APED:', n)
