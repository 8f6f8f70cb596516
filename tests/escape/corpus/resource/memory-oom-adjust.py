# id: resource-memory-oom-adjust
# category: resource
# profile: open
# threat: makes somebody else the victim of the memory killer
# expect: memory_exceeded error
# limits: memory=128 timeout=20
import os
for p in ('/proc/self/oom_score_adj', '/proc/1/oom_score_adj'):
    for v in ('-1000', '-1'):
        try:
            with open(p, 'w') as f:
                f.write(v)
            print('ESC' + 'APED:', p, v)
        except OSError as e:
            print(p, e.errno)
a = [bytearray(1 << 20) for i in range(600)]
print('ESC' + 'APED:', len(a))
