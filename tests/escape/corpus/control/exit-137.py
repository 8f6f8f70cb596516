# id: control-exit-137
# category: control
# profile: open
# threat: ends as if the memory killer had come
# expect: error
import os, signal
os.kill(os.getpid(), signal.SIGKILL)
