# id: kernel-vsyscall-and-vdso
# category: kernel
# profile: open
# threat: jumps into the kernel's fixed page
# expect: success
# require: child ended with
import ctypes, os
pid = os.fork()
if pid == 0:
    f = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_void_p)(0xffffffffff600400)
    print('time', f(None), flush=True)
    os._exit(0)
print('child ended with', os.waitpid(pid, 0)[1])
