# id: kernel-ioctl-commands
# category: kernel
# profile: open
# threat: commands of drivers, file systems, namespaces and terminals
# expect: success error
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def call(nr, *args):
    values = [ctypes.c_long(a) if isinstance(a, int) else (ctypes.c_char * len(a)).from_buffer(a) if isinstance(a, bytearray) else a for a in args]
    ctypes.set_errno(0)
    return libc.syscall(ctypes.c_long(nr), *values), ctypes.get_errno()
def judge(name, r, e):
    print(name, r, e)
    if r >= 0:
        print('ESC' + 'APED:', name)
    elif e not in (1, 38):  # neither EPERM nor ENOSYS: the kernel answered, not the filter
        print('UNFIL' + 'TERED:', name, e)
import os, socket
file = os.open('/workspace/file', os.O_RDWR | os.O_CREAT)
space = os.open('/proc/self/ns/user', os.O_RDONLY) if os.path.exists('/proc/self/ns/user') else file
pidfd = os.pidfd_open(os.getpid())
inet = socket.socket().fileno()
null = os.open('/dev/null', os.O_RDWR)
commands = {
    'FS_IOC_SETFLAGS': 0x40086602, 'FS_IOC_GETFLAGS': 0x80086601, 'FIEMAP': 0xc020660b, 'FICLONE': 0x40049409, 'FIFREEZE': 0xc0045877, 'FITRIM': 0xc0185879,
    'FSSETXATTR': 0x401c5820, 'ENABLE_VERITY': 0x40806685, 'SET_ENCRYPTION': 0x800c6613, 'NS_GET_USERNS': 0xb701, 'NS_GET_PARENT': 0xb702, 'NS_MNT_GET_NEXT': 0x8010b70b,
    'PIDFD_GET_USER_NAMESPACE': 0xff09, 'PIDFD_GET_MNT_NAMESPACE': 0xff03, 'PIDFD_GET_INFO': 0xc040ff0b, 'SIOCSIFFLAGS': 0x8914, 'SIOCBRADDBR': 0x89a0, 'SIOCADDRT': 0x890b,
    'SIOCSIFADDR': 0x8916, 'SIOCGSTAMP': 0x8906, 'SIOCETHTOOL': 0x8946, 'TIOCSTI': 0x5412, 'TIOCSETD': 0x5423, 'TIOCLINUX': 0x541c, 'TIOCCONS': 0x541d, 'TIOCSCTTY': 0x540e,
    'FIOASYNC': 0x5452, 'RNDADDENTROPY': 0x40085203, 'KVM_CREATE_VM': 0xae01, 'UFFDIO_API': 0xc018aa3f, 'BLKDISCARD': 0x1277, 'LOOP_SET_FD': 0x4c00, 'TUNSETIFF': 0x400454ca,
}
for name, command in commands.items():
    for fd in (file, space, pidfd, inet, null, 0):
        judge(f'{name} of {fd}', *call(16, fd, command, bytearray(256)))
    judge(name + ' high bits', *call(16, file, command | 1 << 32, bytearray(256)))
