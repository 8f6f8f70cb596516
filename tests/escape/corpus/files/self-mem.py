# id: files-self-mem
# category: files
# profile: open
# threat: writes past page protection through /proc/self/mem, reads pid 1's memory
# expect: success error
import ctypes, os
try:
    with open('/proc/1/mem', 'rb') as f:
        print('ESC' + 'APED: opened the memory of pid 1')
except OSError as e:
    print(e.errno)
for p in ('maps', 'smaps', 'environ', 'auxv', 'stack', 'syscall', 'io', 'pagemap', 'map_files', 'wchan'):
    try:
        path = f'/proc/1/{p}'
        data = os.listdir(path) if p == 'map_files' else open(path, 'rb').read(16)
        if data and p not in ('wchan',):
            print('ESC' + 'APED: pid 1', p)
    except OSError as e:
        print(p, e.errno)
