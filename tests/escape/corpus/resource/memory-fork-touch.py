# id: resource-memory-fork-touch
# category: resource
# profile: open
# threat: copies a big parent by fork and writes in every child
# expect: memory_exceeded error timeout success
# limits: memory=128 timeout=20 pids=64
import os, time
a = bytearray(70 << 20)
kids = []
for i in range(12):
    try:
        pid = os.fork()
    except OSError:
        break
    if pid == 0:
        for j in range(0, len(a), 4096):
            a[j] = i + 1
        time.sleep(3)
        os._exit(0)
    kids.append(pid)
done = sum(os.waitpid(p, 0)[1] == 0 for p in kids)
if done > 3:
    print('ESC' + 'APED:', done)
