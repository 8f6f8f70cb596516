# id: leak-other-processes
# category: leak
# profile: open
# threat: sees processes of the host
# expect: success error
import os
mine = [p for p in os.listdir('/proc') if p.isdigit()]
print(len(mine))
if len(mine) > 8:
    print('ESC' + 'APED:', len(mine))
for p in mine:
    try:
        line = open(f'/proc/{p}/cmdline', 'rb').read()
    except OSError:
        continue
    print(p, line)
    if b'pytest' in line or b'--json' in line or b'--prove' in line:
        print('ESC' + 'APED: command line of the caller')
