# id: control-endless-frame
# category: control
# profile: open
# threat: announces a frame of four gigabytes and sends it slowly
# expect: error
import os, time
fds = []
for fd in range(1024):
    try:
        os.fstat(fd)
        fds.append(fd)
    except OSError:
        pass
for fd in fds:
    if fd > 2:
        try:
            os.write(fd, b'BJ\x01\x0d\xff\xff\xff\xff')
            for i in range(100):
                os.write(fd, b'x')
        except OSError as e:
            print(e.errno, flush=True)
time.sleep(20)
