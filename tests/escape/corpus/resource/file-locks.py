# id: resource-file-locks
# category: resource
# profile: open
# threat: ten thousand locks, which are kernel memory
# expect: success
# require: 10000 locks
# limits: timeout=10
# process: names /tmp
import fcntl
n = 0
with open('/tmp/l', 'wb') as f:
    try:
        for i in range(10000):
            fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, i * 2)
            n += 1
    except OSError as e:
        print('stopped', e.errno)
print(n, 'locks')
