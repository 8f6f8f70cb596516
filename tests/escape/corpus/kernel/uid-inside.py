# id: kernel-uid-inside
# category: kernel
# profile: open
# threat: is somebody important inside, or mapped to somebody important outside
# expect: success error
import os
if 0 in os.getresuid() + os.getresgid():
    print('ESC' + 'APED: uid 0 inside')
for name in ('uid_map', 'gid_map'):
    with open(f'/proc/self/{name}') as f:
        for line in f:
            inside, outside, count = map(int, line.split())
            print(name, inside, outside, count)
            if count > 65536:
                print('ESC' + 'APED: wide map')
for path in ('/proc/self/uid_map', '/proc/self/gid_map', '/proc/self/setgroups', '/proc/1/uid_map'):
    try:
        with open(path, 'w') as f:
            f.write('0 0 1\n')
        print('ESC' + 'APED:', path)
    except OSError as e:
        print(path, e.errno)
