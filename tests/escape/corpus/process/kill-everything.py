# id: process-kill-everything
# category: process
# profile: open
# threat: signals every pid there could be, and every process group
# expect: success error timeout
# limits: timeout=3
import os, signal
hits = []
for pid in list(range(2, 40000)) + [@VICTIM_PID@]:
    if pid == os.getpid():
        continue
    for f in (os.kill, os.killpg):
        try:
            f(pid, signal.SIGTERM)
            hits.append(pid)
        except OSError:
            pass
print(hits[:20])
if @VICTIM_PID@ in hits and @VICTIM_PID@ != os.getpid() and @VICTIM_PID@ > 100:
    print('ESC' + 'APED: the victim was signalled')
