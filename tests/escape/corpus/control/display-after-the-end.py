# id: control-display-after-the-end
# category: control
# profile: open
# threat: shows things from exit functions, threads and children when the program is over
# expect: error
import atexit, os, threading, time
def late():
    for i in range(200):
        display(i)
atexit.register(late)
threading.Thread(target=lambda: (time.sleep(0.2), late())).start()
if os.fork() == 0:
    late()
    os._exit(0)
raise ValueError('over')
