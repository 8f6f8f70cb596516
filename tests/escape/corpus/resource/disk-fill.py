# id: resource-disk-fill
# category: resource
# profile: open
# threat: fills the workspace and /tmp
# expect: success error memory_exceeded
# limits: disk=16 memory=256 timeout=20
# uncovered: the size of all files together is not limited
import os
total = 0
for d in ('/workspace', '/tmp', '/dev/shm', '/var/tmp', '/run', os.path.expanduser('~')):
    n = 0
    try:
        with open(d + '/fill', 'wb') as f:
            for i in range(300):
                f.write(bytes(1 << 20))
                f.flush()
                n += 1
    except OSError as e:
        print(d, 'stopped', e.errno)
    total += n
    print(d, n)
if total > 3 * 16 + 4:
    print('ESC' + 'APED:', total)
