# id: files-hard-link
# category: files
# profile: open
# threat: hard links to files it must not own
# expect: success error
import os
for src in ('@CANARY_FILE@', '/etc/passwd', '/usr/bin/su', '/proc/self/exe', '/bin/sh'):
    for dst in ('/tmp/l', '/workspace/l', '/dev/shm/l'):
        try:
            os.link(src, dst)
            print('ESC' + 'APED:', src, dst)
        except OSError as e:
            print(src, e.errno)
