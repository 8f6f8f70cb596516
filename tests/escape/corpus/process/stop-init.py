# id: process-stop-init
# category: process
# profile: open
# threat: stops pid 1 of the sandbox, which would otherwise report the end
# expect: timeout
# limits: timeout=1
import os, signal, time
for pid in (1, os.getppid()):
    for s in (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN):
        try:
            os.kill(pid, s)
        except OSError as e:
            print(e.errno)
time.sleep(20)
