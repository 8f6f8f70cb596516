# id: kernel-message-queues
# category: kernel
# profile: open
# threat: fills memory of the kernel with messages of its choice
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
judge('msgget', *call(68, 0, 0o1600))
judge('msgsnd', *call(69, 0, bytearray(b'\x01' + bytes(63)), 8, 0o4000))
judge('msgrcv', *call(70, 0, bytearray(64), 8, 0, 0o4000))
judge('msgctl', *call(71, 0, 0, 0))
judge('mq_open', *call(240, bytearray(b'queue\0'), 0o102, 0o600, 0))
judge('mq_unlink', *call(241, bytearray(b'queue\0')))
judge('mq_notify', *call(244, 0, 0))
