# id: cross-other-sandbox-processes
# category: cross
# profile: open
# threat: sees or signals the process of another sandbox
# expect: success error
# runs: 2
import os
others = [p for p in os.listdir('/proc') if p.isdigit() and int(p) > 1 and int(p) != os.getpid()]
print(others)
names = []
for p in others:
    try:
        names.append(open(f'/proc/{p}/comm').read())
    except OSError:
        pass
if len(names) > 3:
    print('ESC' + 'APED:', names)
