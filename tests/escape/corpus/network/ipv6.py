# id: network-ipv6
# category: network
# profile: open
# threat: families and protocols without a grant: IPv6, UDP-Lite, MPTCP, SCTP, DCCP, ping, raw
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
for family, kinds in ((10, (1, 2, 3, 4, 5, 6, 10)), (2, (3, 4, 5, 6, 10))):
    for kind in kinds:
        for flags in (0, 0o2000000, 0o4000, 0o2004000, 1 << 32):
            for protocol in (0, 6, 17, 58, 132, 136, 255, 262):
                r, e = call(41, family, kind | flags, protocol)
                judge(f'{family} {kind} {flags:#x} {protocol}', r, 1 if e == 97 and family == 10 else e)
for kind, protocols in ((1, (33, 132, 262, 256)), (2, (1, 33, 115, 136))):
    for protocol in protocols:
        judge(f'2 {kind} {protocol}', *call(41, 2, kind, protocol))
for family in (2, 10, 16, 17, 30, 38, 40, 44):
    judge(f'pair {family}', *call(53, family, 1, 0, bytearray(8)))
