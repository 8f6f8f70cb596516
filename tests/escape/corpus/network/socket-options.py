# id: network-socket-options
# category: network
# profile: open
# threat: options that attach filters, ciphers or tunnels to a socket; out-of-band data
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
tcp, udp = socket.socket(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
left, right = socket.socketpair()
options = {
    'ATTACH_FILTER': (1, 26), 'ATTACH_BPF': (1, 50), 'REUSEPORT_CBPF': (1, 51), 'ZEROCOPY': (1, 60), 'TXTIME': (1, 61), 'BINDTODEVICE': (1, 25), 'MARK': (1, 36), 'TIMESTAMPING': (1, 37),
    'BUSY_POLL': (1, 46), 'LOCK_FILTER': (1, 44), 'SNDBUFFORCE': (1, 32), 'TCP_ULP': (6, 31), 'TCP_MD5SIG': (6, 14), 'TCP_REPAIR': (6, 19), 'TCP_AO': (6, 38), 'TCP_CONGESTION': (6, 13),
    'UDP_ENCAP': (17, 100), 'UDP_SEGMENT': (17, 103), 'UDP_CORK': (17, 1), 'IP_OPTIONS': (0, 4), 'ADD_MEMBERSHIP': (0, 35), 'MCAST_JOIN': (0, 42), 'MSFILTER': (0, 41), 'IPT_REPLACE': (0, 64),
    'XFRM_POLICY': (0, 17), 'IPV6_ANY': (41, 26), 'TLS_TX': (282, 1), 'ALG_KEY': (279, 1), 'NETLINK': (270, 1), 'SCTP': (132, 0), 'MPTCP': (284, 1),
}
for name, (level, option) in options.items():
    for s in (tcp, udp, left):
        judge(f'{name} of {s.family}', *call(54, s.fileno(), level, option, bytearray(256), 8))
    judge(name + ' high bits', *call(54, tcp.fileno(), level | 1 << 32, option | 1 << 32, bytearray(256), 8))
data, vector = bytearray(b'x' * 64), bytearray(64)
for flags in (1, 1 | 0x40, 1 | 0x4000, 1 << 32 | 1, 0x4000000):
    judge(f'sendto {flags:#x}', *call(44, left.fileno(), data, 1, flags, 0, 0))
    judge(f'sendmsg {flags:#x}', *call(46, left.fileno(), vector, flags))
    judge(f'sendmmsg {flags:#x}', *call(307, left.fileno(), vector, 1, flags))
    judge(f'recvfrom {flags:#x}', *call(45, right.fileno(), data, 1, flags | 0x40, 0, 0))
    judge(f'recvmsg {flags:#x}', *call(47, right.fileno(), vector, flags | 0x40))
    judge(f'recvmmsg {flags:#x}', *call(299, right.fileno(), vector, 1, flags | 0x40, 0))
judge('TCP_ZEROCOPY_RECEIVE', *call(55, tcp.fileno(), 6, 35, bytearray(64), bytearray(b'@' + bytes(3))))
