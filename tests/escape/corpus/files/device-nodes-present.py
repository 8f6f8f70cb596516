# id: files-device-nodes-present
# category: files
# profile: open
# threat: finds more device nodes than it needs
# expect: success error
import os, stat
allowed = {'null', 'zero', 'full', 'random', 'urandom', 'tty', 'ptmx'}
for base, dirs, names in os.walk('/dev'):
    for n in names:
        p = os.path.join(base, n)
        m = os.lstat(p).st_mode
        if (stat.S_ISCHR(m) or stat.S_ISBLK(m)) and (n not in allowed or stat.S_ISBLK(m)):
            print('ESC' + 'APED:', p)
for p in ('/dev/mem', '/dev/kmsg', '/dev/kvm', '/dev/fuse', '/dev/vda', '/dev/net/tun', '/dev/vsock', '/dev/vhost-vsock', '/dev/loop-control'):
    try:
        os.close(os.open(p, os.O_RDONLY))
        print('ESC' + 'APED:', p)
    except OSError as e:
        print(p, e.errno)
