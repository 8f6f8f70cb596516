# id: process-fork-bomb
# category: process
# profile: open
# threat: forks until something gives way
# expect: success error timeout
# limits: pids=32 timeout=5
import os, time
made = 0
for i in range(2000):
    try:
        if os.fork() == 0:
            time.sleep(20)
            os._exit(0)
        made += 1
    except OSError as e:
        print('stopped', e.errno)
        break
print('made', made)
if made > 40:
    print('ESC' + 'APED:', made)
