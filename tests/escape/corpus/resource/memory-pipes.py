# id: resource-memory-pipes
# category: resource
# profile: open
# threat: fills pipes, whose buffers are memory of the kernel
# expect: success error memory_exceeded
# limits: memory=128 timeout=20 pids=64
import fcntl, os
total = 0
kids = []
def fill():
    n = 0
    try:
        for i in range(100):
            r, w = os.pipe()
            try:
                fcntl.fcntl(w, 1031, 1 << 20)
            except OSError:
                pass
            os.set_blocking(w, False)
            try:
                while True:
                    n += os.write(w, bytes(65536))
            except BlockingIOError:
                pass
    except OSError:
        pass
    return n
r, w = os.pipe()
for i in range(8):
    if os.fork() == 0:
        os.write(w, fill().to_bytes(8, 'little'))
        import time
        time.sleep(3)
        os._exit(0)
os.close(w)
for i in range(8):
    total += int.from_bytes(os.read(r, 8), 'little')
print(total >> 20)
if total > 300 << 20:
    print('ESC' + 'APED:', total)
