# id: process-thread-bomb
# category: process
# profile: open
# threat: starts threads until something gives way
# expect: success error timeout
# limits: pids=32 timeout=5
import threading, time
made = 0
try:
    for i in range(2000):
        threading.Thread(target=time.sleep, args=(20,), daemon=True).start()
        made += 1
except RuntimeError as e:
    print('stopped', e)
print('made', made, flush=True)
if made > 40:
    print('ESC' + 'APED:', made, flush=True)
import os
os._exit(0)
