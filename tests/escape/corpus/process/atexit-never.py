# id: process-atexit-never
# category: process
# profile: open
# threat: ends by the book and then refuses to go, in exit handlers and finalizers
# expect: timeout
# require: done
# limits: timeout=1
import atexit, threading, time
atexit.register(time.sleep, 60)
threading.Thread(target=time.sleep, args=(60,)).start()
print('done')
