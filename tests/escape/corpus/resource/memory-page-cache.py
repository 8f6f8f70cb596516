# id: resource-memory-page-cache
# category: resource
# profile: open
# threat: fills the page cache by reading more of the system than its memory holds
# expect: success
# require: True
# limits: memory=128 timeout=20
import os
n = 0
for base, dirs, names in os.walk('/usr/lib'):
    for name in names:
        try:
            with open(os.path.join(base, name), 'rb') as f:
                while n <= 256 << 20 and (piece := f.read(1 << 20)):
                    n += len(piece)
        except OSError:
            pass
    if n > 256 << 20:
        break
print(n > 128 << 20)
