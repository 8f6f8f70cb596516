# id: process-ptrace-stop-children
# category: process
# profile: open
# threat: leaves children stopped, traced or zombies
# expect: success
# require: left them
import os, signal, time
for i in range(10):
    pid = os.fork()
    if pid == 0:
        if i % 2:
            os._exit(0)
        os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(20)
        os._exit(0)
print('left them')
