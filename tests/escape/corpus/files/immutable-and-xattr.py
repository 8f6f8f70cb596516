# id: files-immutable-and-xattr
# category: files
# profile: open
# threat: file attributes that keep files from being removed or give them capabilities
# expect: success error
import fcntl, os, struct
for d in ('/tmp', '/workspace'):
    with open(d + '/f', 'w') as f:
        try:
            fcntl.ioctl(f, 0x40086602, struct.pack('l', 0x10))
            print('ESC' + 'APED: immutable')
        except OSError as e:
            print(e.errno)
        for name in ('security.capability', 'trusted.x'):
            try:
                os.setxattr(d + '/f', name, struct.pack('<IIIII', 0x02000001, 0xffffffff, 0, 0, 0))
                print('ESC' + 'APED:', name)
            except OSError as e:
                print(name, e.errno)
