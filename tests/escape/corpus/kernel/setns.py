# id: kernel-setns
# category: kernel
# profile: open
# threat: joins another process's namespaces through its files in /proc
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
import os
for pid in ('1', 'self', str(os.getppid())):
    for ns in ('user', 'mnt', 'net', 'pid', 'ipc', 'uts', 'cgroup', 'time'):
        try:
            fd = os.open(f'/proc/{pid}/ns/{ns}', os.O_RDONLY)
        except OSError:
            fd = -1
        judge(f'setns {ns}', *call(308, fd, 0))
