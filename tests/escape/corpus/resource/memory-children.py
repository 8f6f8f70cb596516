# id: resource-memory-children
# category: resource
# profile: open
# threat: many processes, each below the limit
# expect: memory_exceeded error timeout
# limits: memory=128 timeout=20 pids=64
import os, time
for i in range(16):
    if os.fork() == 0:
        a = bytearray(60 << 20)
        for j in range(0, len(a), 4096):
            a[j] = 1
        os.write(1, b'up\n')
        time.sleep(4)
        os._exit(0)
up = 0
for i in range(16):
    up += os.wait()[1] == 0
print('finished', up)
if up > 4:
    print('ESC' + 'APED:', up)
