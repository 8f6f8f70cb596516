# id: files-self-exe-overwrite
# category: files
# profile: open
# threat: overwrites the program that started it through /proc (the runc hole of 2019)
# expect: success error
import os
for pid in ['self', '1', str(os.getppid())]:
    exe = f'/proc/{pid}/exe'
    try:
        print(os.readlink(exe))
    except OSError as e:
        print(e.errno)
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC):
        try:
            fd = os.open(exe, flags)
            print('ESC' + 'APED:', pid, flags)
            os.close(fd)
        except OSError as e:
            print(pid, e.errno)
    try:
        fd = os.open(exe, os.O_PATH)
        os.close(os.open(f'/proc/self/fd/{fd}', os.O_WRONLY))
        print('ESC' + 'APED: through O_PATH', pid)
    except OSError as e:
        print(pid, e.errno)
