# id: process-closed-everything
# category: process
# profile: open
# threat: closes every descriptor, the control channel too, and goes on
# expect: timeout error
# limits: timeout=1
import os, time
os.closerange(0, 4096)
time.sleep(20)
