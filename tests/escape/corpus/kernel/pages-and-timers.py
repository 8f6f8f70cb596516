# id: kernel-pages-and-timers
# category: kernel
# profile: open
# threat: pages lent to pipes, huge pages of the host, merged pages, timers on CPU time
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
import mmap, os
r, w = os.pipe()
file = os.open('/usr/bin/env', os.O_RDONLY)
judge('splice', *call(275, file, 0, w, 0, 16, 0))
judge('vmsplice', *call(278, w, bytearray(16), 1, 0))
judge('tee', *call(276, r, w, 1, 2))
for flags, name in ((0x40000, 'MAP_HUGETLB'), (0x100, 'MAP_GROWSDOWN'), (0x100 | 1 << 32, 'MAP_GROWSDOWN high'), (0x40000 | 21 << 26, 'MAP_HUGE_2MB')):
    judge(name, *call(9, 0, 2 << 20, 3, 0x22 | flags, -1, 0))
judge('MFD_HUGETLB', *call(319, bytearray(b'x\0'), 4))
judge('SHM_HUGETLB', *call(29, 0, 2 << 20, 0o4600))
area = mmap.mmap(-1, 8192)
judge('MADV_MERGEABLE', *call(28, ctypes.addressof(ctypes.c_char.from_buffer(area)), 4096, 12))
for clock in (2, 3, 8, 9, 11, -6, -2, (~os.getpid() << 3) | 2):
    judge(f'timer_create {clock}', *call(222, clock, 0, bytearray(8)))
judge('get_robust_list', *call(274, 0, bytearray(8), bytearray(8)))
