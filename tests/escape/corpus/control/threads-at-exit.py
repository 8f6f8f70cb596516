# id: control-threads-at-exit
# category: control
# profile: open
# threat: ends while threads hold the interpreter busy
# expect: success timeout
# require: done
# limits: timeout=3
import threading
def spin():
    while True:
        pass
for i in range(4):
    threading.Thread(target=spin, daemon=True).start()
print('done')
