# id: cross-sysv-ipc
# category: cross
# profile: open
# threat: SysV memory, semaphores and queues of an earlier run are still there
# expect: success error
# runs: 2
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
key = 0x626a0001
for name, f in (('shm', lambda flag: libc.shmget(key, 4096, flag)), ('sem', lambda flag: libc.semget(key, 1, flag)), ('msg', lambda flag: libc.msgget(key, flag))):
    if f(0) >= 0:
        print('ESC' + 'APED:', name)
    print(name, f(0o1666) >= 0)
