# id: process-blocked-signals
# category: process
# profile: open
# threat: blocks every signal in every thread
# expect: timeout
# require: started
# limits: timeout=1
import signal, threading, time
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
print('started', flush=True)
threading.Thread(target=time.sleep, args=(20,)).start()
time.sleep(20)
