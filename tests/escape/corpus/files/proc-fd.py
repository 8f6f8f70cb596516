# id: files-proc-fd
# category: files
# profile: open
# threat: finds a descriptor of a directory, socket, pipe or file that was left open for it
# expect: success error
import os, stat
for pid in ['self', '1', str(os.getppid())]:
    try:
        fds = os.listdir(f'/proc/{pid}/fd')
    except OSError as e:
        print(pid, e.errno)
        continue
    for fd in fds:
        try:
            target = os.readlink(f'/proc/{pid}/fd/{fd}')
        except OSError:
            continue
        print(pid, fd, target.split(':')[0])
        if pid == 'self' and int(fd) > 2:
            try:
                st = os.fstat(int(fd))
            except OSError:
                continue
            if stat.S_ISDIR(st.st_mode) and not target.startswith('/proc/'):
                print('ESC' + 'APED: directory', target)
            for up in ('..', '../../../../../..@CANARY_DIR@'):
                try:
                    print('ESC' + 'APED:', os.listdir(f'/proc/self/fd/{fd}/{up}'))
                except OSError:
                    pass
