# id: resource-file-size
# category: resource
# profile: open
# threat: one file beyond the file size limit
# expect: success error memory_exceeded
# limits: disk=512 memory=1024 timeout=10
import os, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with open('/workspace/big', 'wb') as f:
    try:
        f.truncate(64 << 30)
        f.seek(40 << 30)
        f.write(b'x')
        f.flush()
        print('ESC' + 'APED: a file of 40 GB')
    except OSError as e:
        print('stopped', e.errno)
