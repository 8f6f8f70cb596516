# id: resource-inodes
# category: resource
# profile: open
# threat: fills the file system with empty files
# expect: success error timeout memory_exceeded
# limits: disk=16 timeout=30
# uncovered: the number of files is not limited
cd /workspace && mkdir a && cd a
n=0
python3 - <<'END'
import os
n = 0
try:
    for i in range(200000):
        os.close(os.open(f'{i}', os.O_CREAT | os.O_WRONLY))
        n += 1
except OSError as e:
    print('stopped', e.errno)
print(n)
if n >= 150000:
    print('ESC' + 'APED:', n)
END
