# id: process-ignored-signals
# category: process
# profile: open
# threat: ignores every signal it can
# expect: timeout
# require: started
# limits: timeout=1
import signal, time
for s in range(1, 65):
    try:
        signal.signal(s, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
print('started', flush=True)
while True:
    time.sleep(1)
