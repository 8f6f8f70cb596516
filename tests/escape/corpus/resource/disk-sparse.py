# id: resource-disk-sparse
# category: resource
# profile: open
# threat: sparse and preallocated files beyond the limit
# expect: success error
# limits: disk=16 timeout=10
import os
for d in ('/workspace', '/tmp'):
    try:
        fd = os.open(d + '/p', os.O_RDWR | os.O_CREAT)
        os.posix_fallocate(fd, 0, 200 << 20)
        print('ESC' + 'APED: allocated', os.fstat(fd).st_blocks * 512)
    except OSError as e:
        print('stopped', e.errno)
