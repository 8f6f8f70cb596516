# id: files-proc-root
# category: files
# profile: open
# threat: uses the magic links of processes to reach another root
# expect: success error
import os
for pid in ['self', 'thread-self', '1', str(os.getppid())] + [p for p in os.listdir('/proc') if p.isdigit()]:
    for way in ('root', 'cwd'):
        for up in ('', '/..', '/../../../..'):
            try:
                text = open(f'/proc/{pid}/{way}{up}@CANARY_FILE@').read()
                print('ESC' + 'APED:', pid, way, text)
            except OSError:
                pass
print('end')
