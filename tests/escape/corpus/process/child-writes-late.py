# id: process-child-writes-late
# category: process
# profile: open
# threat: a child goes on writing after the program ended
# expect: success error
# forbid: late
# limits: timeout=5
import os, time
if os.fork() == 0:
    time.sleep(3)
    print('la' + 'te', flush=True)
    os._exit(0)
print('done', flush=True)
