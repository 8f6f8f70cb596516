# id: files-readonly-grant
# category: files
# profile: open
# threat: writes, remounts, moves or unmounts a directory that is granted for reading
# expect: success error
# grant: ro
# require: tried
# process: names /workspace
import ctypes, json, mmap, os, struct, threading
GRANTS = json.loads(r'''@GRANTS@''')
BAIT = GRANTS[0]  # the only one in which anything is there to be destroyed; in others only new names are tried
NAME = '.bjprobe-' + os.urandom(6).hex()
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def call(nr, *args):
    values = [ctypes.c_long(a) if isinstance(a, int) else ctypes.c_char_p(a) if isinstance(a, bytes) else (ctypes.c_char * len(a)).from_buffer(a) if isinstance(a, bytearray) else a for a in args]
    ctypes.set_errno(0)
    return libc.syscall(ctypes.c_long(nr), *values), ctypes.get_errno()
def escaped(*what):
    print('ESC' + 'APED:', *what)
def attempt(what, act):
    try:
        act()
    except (OSError, ValueError):
        return
    escaped(what)
def refused(what, nr, *args):
    r, e = call(nr, *args)
    if r >= 0:
        escaped(what)
        if what.endswith('!'):
            os.close(r)
    elif e not in (1, 38):
        print('UNFIL' + 'TERED:', what, e)

def write_below(place, how):
    new = os.path.join(place, NAME)
    def made(act):
        act()
        for path in (new,):
            try: os.unlink(path)
            except OSError:
                try: os.rmdir(path)
                except OSError: pass
    attempt(f'{how}: create', lambda: made(lambda: os.close(os.open(new, os.O_CREAT | os.O_WRONLY, 0o600))))
    attempt(f'{how}: mkdir', lambda: made(lambda: os.mkdir(new)))
    attempt(f'{how}: symlink', lambda: made(lambda: os.symlink('x', new)))
    attempt(f'{how}: fifo', lambda: made(lambda: os.mkfifo(new)))
    attempt(f'{how}: link', lambda: made(lambda: os.link('/workspace/mine', new)))
    attempt(f'{how}: move in', lambda: made(lambda: os.rename('/workspace/mine', new)))
    attempt(f'{how}: nameless', lambda: os.close(os.open(place, os.O_TMPFILE | os.O_RDWR, 0o600)))
    attempt(f'{how}: times', lambda: os.utime(place, (1, 1)))
    attempt(f'{how}: attribute', lambda: os.setxattr(place, 'user.bj', b'x'))

def destroy(place, how):
    kept = os.path.join(place, 'kept.txt')
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC, os.O_RDWR | os.O_APPEND, os.O_RDONLY | os.O_TRUNC):
        attempt(f'{how}: open {flags:#x}', lambda: os.close(os.open(kept, flags)))
    attempt(f'{how}: truncate', lambda: os.truncate(kept, 0))
    attempt(f'{how}: chmod', lambda: os.chmod(kept, 0o777))
    attempt(f'{how}: times', lambda: os.utime(kept))
    attempt(f'{how}: unlink', lambda: os.unlink(kept))
    attempt(f'{how}: rename', lambda: os.rename(kept, kept + '2'))
    attempt(f'{how}: move out', lambda: os.rename(kept, '/workspace/kept'))
    if os.path.islink(place):
        place = os.path.join(place, '.')  # the link itself is ours
    attempt(f'{how}: rename it all', lambda: os.rename(place, place + '-moved'))
    attempt(f'{how}: remove it all', lambda: os.rmdir(place))
    def linked():
        os.link(kept, '/workspace/linked')
        open('/workspace/linked', 'a').write('x')
    attempt(f'{how}: hard link', linked)
    def mapped():
        fd = os.open(kept, os.O_RDONLY)
        try: mmap.mmap(fd, 1, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)[0] = 120
        finally: os.close(fd)
    attempt(f'{how}: mapped', mapped)
    def reopened():
        fd = os.open(kept, os.O_RDONLY)
        try: os.close(os.open(f'/proc/self/fd/{fd}', os.O_WRONLY))
        finally: os.close(fd)
    attempt(f'{how}: opened again', reopened)

open('/workspace/mine', 'w').write('mine')
os.mkdir('/workspace/point')
for grant in GRANTS:
    name, path = grant.encode(), ctypes.c_char_p(grant.encode())
    folder = os.open(grant, os.O_RDONLY | os.O_DIRECTORY)
    bare = os.open(grant, os.O_PATH | os.O_DIRECTORY)
    ways = [(grant, 'plainly'), ('/proc/self/root' + grant, 'by the root'), (f'/proc/self/fd/{folder}', 'by a descriptor'), (f'/proc/self/fd/{bare}', 'by a bare descriptor'),
            ('/proc/1/root' + grant, 'by pid 1'), ('/workspace/way', 'by a link')]
    os.symlink(grant, '/workspace/way')
    for place, how in ways:
        write_below(place, f'{grant} {how}')
        if grant == BAIT:
            destroy(place, f'{grant} {how}')
    os.unlink('/workspace/way')
    os.chdir(grant)
    write_below('.', f'{grant} from inside')
    os.chdir('/workspace')
    for fs in (0, 0x20, 0x1000, 0x21, 0x40021):
        refused(f'{grant} mount {fs:#x}', 165, b'none', name, b'tmpfs', fs | (0x20 if fs == 0 else 0), 0)
        refused(f'{grant} bind {fs:#x}', 165, name, b'/workspace/point', 0, 0x1000 | fs, 0)
        refused(f'{grant} bind over {fs:#x}', 165, b'/workspace/point', name, 0, 0x1000 | fs, 0)
    for flags in (0x20, 0x20 | 0x1000, 0x20 | 0x1000 | 0x4000):
        refused(f'{grant} remount {flags:#x}', 165, 0, name, 0, flags, 0)
    refused(f'{grant} move', 165, name, b'/workspace/point', 0, 0x2000, 0)
    refused(f'{grant} propagation', 165, 0, name, 0, 1 << 20, 0)
    for flags in (0, 1, 2, 8):
        refused(f'{grant} umount {flags}', 166, name, flags)
    attr = bytearray(struct.pack('QQQQ', 0, 1, 0, 0))
    for fd, where, flags in ((-100, name, 0), (-100, name, 0x8000), (folder, b'', 0x1000), (bare, b'', 0x1000)):
        refused(f'{grant} mount_setattr {flags:#x}', 442, fd, where, flags, attr, 32)
    for flags in (0, 1, 0x8001, 0x80001):
        refused(f'{grant} open_tree {flags:#x} !', 428, -100, name, flags)
    refused(f'{grant} move_mount', 429, folder, b'', -100, b'/workspace/point', 4)
    refused(f'{grant} fspick !', 433, -100, name, 0)
    refused(f'{grant} pivot_root', 155, name, name)
    refused(f'{grant} chroot', 161, name)
    refused(f'{grant} handle', 303, -100, name, bytearray(128), bytearray(8), 0)
    for flags in (0x10000000, 0x10020000, 0x20000, 0x30020000):
        refused(f'{grant} unshare {flags:#x}', 272, flags)
    os.close(folder)
    os.close(bare)
# Another thread swaps the name for a link to the grant while this one writes.
stop = False
def swap():
    n = 0
    while not stop:
        n += 1
        try:
            os.symlink(BAIT, '/workspace/tmp-link')
            os.rename('/workspace/tmp-link', '/workspace/turn')
            os.unlink('/workspace/turn')
            os.mkdir('/workspace/turn')
            os.rmdir('/workspace/turn')
        except OSError:
            pass
t = threading.Thread(target=swap)
t.start()
for i in range(2000):
    try:
        with open('/workspace/turn/' + NAME, 'w') as f: f.write('x')
    except OSError:
        continue
    if os.path.exists(os.path.join(BAIT, NAME)): escaped('race')
stop = True
t.join()
print('tried', len(GRANTS))
