# id: process-strict-threads-bomb
# category: process
# profile: strict
# threat: threads are allowed in the strict profile, and counted all the same
# expect: success error timeout refused
# limits: pids=32 timeout=2
import threading
ev = threading.Event()
made = 0
try:
    for i in range(2000):
        threading.Thread(target=ev.wait, args=(10,), daemon=True).start()
        made += 1
except RuntimeError as e:
    print('stopped')
print('made', made)
if made > 40:
    print('ESC' + 'APED:', made)
