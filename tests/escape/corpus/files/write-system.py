# id: files-write-system
# category: files
# profile: open
# threat: poisons what every later run will use: interpreter, libraries, start-up files
# expect: success error
import os, sys, sysconfig
places = ['/', '/usr', '/usr/lib', '/usr/bin', '/usr/lib/python3', '/usr/lib/python3/dist-packages', '/usr/lib/python3.11', '/usr/local/lib/python3.11/dist-packages',
          '/etc', '/lib', '/bin', '/dev', '/var', '/opt', '/root', '/home', '/run', '/proc'] + sys.path
for d in places:
    if not d or not os.path.isdir(d) or d.startswith(('/tmp', '/workspace', '/dev/shm')):
        continue
    for name in ('bjpoison.pth', 'sitecustomize.py'):
        p = os.path.join(d, name)
        try:
            with open(p, 'w') as f:
                f.write('x=1')
            print('ESC' + 'APED:', p)
            os.unlink(p)
        except OSError as e:
            pass
for p in ('/usr/lib/python3.11/os.py', '/usr/bin/python3.11', '/etc/passwd', '/etc/ld.so.preload', '/bin/sh', os.__file__):
    for flags in (os.O_WRONLY | os.O_APPEND, os.O_RDWR):
        try:
            os.close(os.open(p, flags))
            print('ESC' + 'APED:', p)
        except OSError as e:
            pass
    for f in (lambda: os.chmod(p, 0o777), lambda: os.utime(p), lambda: os.unlink(p), lambda: os.rename(p, p + 'x')):
        try:
            f()
            print('ESC' + 'APED: changed', p)
        except OSError as e:
            pass
print('end')
