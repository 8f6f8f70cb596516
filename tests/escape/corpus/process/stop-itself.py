# id: process-stop-itself
# category: process
# profile: open
# threat: stops itself, so that it neither ends nor answers
# expect: timeout error
# limits: timeout=1
import os, signal
os.kill(os.getpid(), signal.SIGSTOP)
