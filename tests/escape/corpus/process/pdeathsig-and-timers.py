# id: process-pdeathsig-and-timers
# category: process
# profile: open
# threat: leaves timers, alarms and asynchronous events to fire after the end
# expect: success
# require: done
import signal, os
signal.signal(signal.SIGALRM, lambda *a: os.write(1, b'alarm\n'))
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
for i in range(100):
    signal.sigtimedwait([signal.SIGUSR1], 0.001) if False else None
signal.setitimer(signal.ITIMER_REAL, 3600)
print('done')
