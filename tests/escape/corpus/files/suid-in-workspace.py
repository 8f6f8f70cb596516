# id: files-suid-in-workspace
# category: files
# profile: open
# threat: leaves setuid, setgid and executable files in every writable place
# expect: success error
import os
for d in ('/tmp', '/workspace', '/dev/shm'):
    p = d + '/s'
    try:
        with open(p, 'wb') as f:
            f.write(b'#!/bin/sh\necho ran\n')
        os.chmod(p, 0o6777)
        print(d, oct(os.stat(p).st_mode))
    except OSError as e:
        print(d, e.errno)
import subprocess
r = subprocess.run(['/bin/sh', '-c', 'id -u; id -G'], capture_output=True, text=True).stdout.split()
print(r)
if '0' in r:
    print('ESC' + 'APED:', r)
