# id: kernel-mlock-hugepages
# category: kernel
# profile: open
# threat: pins memory and takes huge pages
# expect: success error memory_exceeded
# limits: memory=128
import ctypes, mmap
libc = ctypes.CDLL(None, use_errno=True)
size = 512 << 20
try:
    m = mmap.mmap(-1, size)
    if libc.mlock(ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(m))), ctypes.c_size_t(size)) == 0:
        print('ESC' + 'APED: mlock')
    libc.mlockall(3)
except (OSError, MemoryError) as e:
    print(e)
try:
    m = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40000)
    m[0] = 1
    print('ESC' + 'APED: hugetlb')
except (OSError, MemoryError, ValueError) as e:
    print(e)
