# id: resource-memory-page-cache
# category: resource
# profile: open
# threat: fills the page cache by reading the whole system again and again
# expect: success
# require: True
# limits: memory=128 timeout=20
import os
n = 0
for base, dirs, names in os.walk('/usr/lib'):
    for name in names:
        try:
            with open(os.path.join(base, name), 'rb') as f:
                n += len(f.read(1 << 20))
        except OSError:
            pass
    if n > 400 << 20:
        break
print(n > 0)
