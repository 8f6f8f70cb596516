# id: resource-disk-unlinked
# category: resource
# profile: open
# threat: deleted files that are still open keep their space
# expect: success error memory_exceeded
# limits: disk=16 timeout=10 memory=256
import os
n = 0
keep = []
try:
    for i in range(200):
        fd = os.open('/tmp/u', os.O_RDWR | os.O_CREAT)
        os.unlink('/tmp/u')
        keep.append(fd)
        os.write(fd, bytes(1 << 20))
        n += 1
except OSError as e:
    print('stopped', e.errno)
print(n)
if n > 40:
    print('ESC' + 'APED:', n)
