# id: cross-warm-memory
# category: cross
# profile: open
# threat: memory of an earlier run is handed out without being cleaned
# expect: success error
# limits: timeout=20 memory=512
# runs: 2
half = b'bjwarm', b'plant0123'
hits = 0
with open('/proc/self/maps') as maps, open('/proc/self/mem', 'rb', 0) as mem:
    for line in maps:
        if ' rw' not in line or '[v' in line:
            continue
        start, end = (int(x, 16) for x in line.split()[0].split('-'))
        try:
            mem.seek(start)
            data = mem.read(min(end - start, 64 << 20))
        except (OSError, ValueError):
            continue
        hits += data.count(half[0] + half[1] + b'bjwarm')
        del data
if hits:
    print('ESC' + 'APED:', hits)
plant = b''.join(half) * 100000
print('ok')
