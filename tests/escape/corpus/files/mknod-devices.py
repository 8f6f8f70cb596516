# id: files-mknod-devices
# category: files
# profile: open
# threat: makes device nodes for the disk, the memory and the terminal
# expect: success error
import os, stat
for d in ('/tmp', '/workspace', '/dev/shm', '/dev'):
    for name, kind, dev in (('mem', stat.S_IFCHR, (1, 1)), ('kmsg', stat.S_IFCHR, (1, 11)), ('vda', stat.S_IFBLK, (254, 0)), ('sda', stat.S_IFBLK, (8, 0)),
                            ('null', stat.S_IFCHR, (1, 3)), ('fuse', stat.S_IFCHR, (10, 229))):
        try:
            os.mknod(f'{d}/bj{name}', kind | 0o666, os.makedev(*dev))
        except OSError as e:
            continue
        try:
            os.close(os.open(f'{d}/bj{name}', os.O_RDONLY))
            print('ESC' + 'APED:', d, name)
        except OSError as e:
            print('nodev', e.errno)
print('end')
