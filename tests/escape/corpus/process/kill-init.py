# id: process-kill-init
# category: process
# profile: open
# threat: kills pid 1 of the sandbox with every signal
# expect: success
# require: still here
import os
for s in range(1, 65):
    for pid in (1, os.getppid()):
        try:
            os.kill(pid, s)
        except OSError as e:
            pass
print('still here')
