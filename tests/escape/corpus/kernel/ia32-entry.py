# id: kernel-ia32-entry
# category: kernel
# profile: open
# threat: enters the kernel through int 0x80, where numbers mean other calls
# expect: success error
import ctypes, mmap, os
def int80(nr, b=0, c=0, d=0):
    code = (b'\x53\xb8' + nr.to_bytes(4, 'little') + b'\xbb' + b.to_bytes(4, 'little') + b'\xb9' + c.to_bytes(4, 'little') +
            b'\xba' + d.to_bytes(4, 'little') + b'\xcd\x80\x5b\xc3')
    m = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    m.write(code)
    f = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))
    return f()
pid = os.fork()
if pid == 0:
    for name, nr, b in (('getpid', 20, 0), ('unshare', 310, 0x10000000), ('keyctl', 288, 0), ('ptrace', 26, 0), ('socket vsock', 359, 40)):
        r = int80(nr, b)
        print(name, r, flush=True)
        if r >= 0:
            print('ESC' + 'APED:', name, flush=True)
    os._exit(0)
print('child ended with', os.waitpid(pid, 0)[1])
