# id: process-namespace-init-reap
# category: process
# profile: open
# threat: floods pid 1 with orphans to reap
# expect: success
# require: done
# limits: timeout=10 pids=32
import os
for i in range(300):
    try:
        pid = os.fork()
    except OSError:
        os.wait()
        continue
    if pid == 0:
        try:
            if os.fork() == 0:
                os._exit(0)
        except OSError:
            pass
        os._exit(0)
    os.waitpid(pid, 0)
print('done')
