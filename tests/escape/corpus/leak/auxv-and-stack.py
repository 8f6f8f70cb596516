# id: leak-auxv-and-stack
# category: leak
# profile: open
# threat: the environment block below the stack still holds the caller's strings
# expect: success error
import re
with open('/proc/self/maps') as f:
    line = [l for l in f if '[stack]' in l][0]
start, end = (int(x, 16) for x in line.split()[0].split('-'))
with open('/proc/self/mem', 'rb', 0) as mem:
    mem.seek(start)
    data = mem.read(end - start)
for word in (b'HOME=', b'XDG_RUNTIME_DIR=', b'SSH_AUTH_SOCK=', b'BELLJAR_' + b'TEST_SECRET='):
    for hit in re.finditer(word + rb'[^\0]*', data):
        text = hit.group()
        print(text[:60])
        if re.search(rb'TEST_SECRET=belljar-t[e]st|bjhome-(root|user)-', text):
            print('ESC' + 'APED:', text[:60])
