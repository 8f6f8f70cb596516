# id: leak-memory-of-kernel-process
# category: leak
# profile: open
# threat: finds the supervisor's secrets in its own memory, where a fork would have left them
# expect: success error
# limits: timeout=20 memory=512
import re
want = ('belljar-' + 'test-secret-').encode()
found = 0
with open('/proc/self/maps') as maps, open('/proc/self/mem', 'rb', 0) as mem:
    for line in maps:
        m = re.match(r'([0-9a-f]+)-([0-9a-f]+) r', line)
        if not m or '[v' in line:
            continue
        start, end = int(m[1], 16), int(m[2], 16)
        if end - start > 256 << 20:
            continue
        try:
            mem.seek(start)
            data = mem.read(end - start)
        except (OSError, ValueError):
            continue
        for hit in re.finditer(re.escape(want) + rb'[0-9a-f]{16}', data):
            found += 1
            print(hit.group().decode())
print('found', found)
if found:
    print('ESC' + 'APED: secret in memory')
