# id: files-undeletable-tree
# category: files
# profile: open
# threat: leaves a tree that is hard to delete: very deep, no permissions, odd names
# expect: success
# require: made
# limits: timeout=10
# process: names /workspace
import os
os.chdir('/workspace')
for i in range(300):
    os.mkdir('d' * 200)
    os.chdir('d' * 200)
open(b'\xff\n', 'w').close()
os.mkdir('locked')
open('locked/f', 'w').close()
os.chmod('locked', 0)
for i in range(300):
    os.chdir('..')
    os.chmod('d' * 200, 0)
os.chdir('/tmp')
os.mkfifo('fifo')
with open('sparse', 'wb') as f:
    try:
        f.truncate(1 << 50)
    except OSError as e:
        print(e.errno)
print('made')
