# id: resource-memory-mmap
# category: resource
# profile: open
# threat: anonymous shared memory, touched
# expect: memory_exceeded error
# limits: memory=128 timeout=20
import mmap
m = mmap.mmap(-1, 700 << 20)
for i in range(0, len(m), 4096):
    m[i] = 1
print('ESC' + 'APED:', len(m))
