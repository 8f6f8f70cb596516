# id: process-closed-stdio
# category: process
# profile: open
# threat: closes its standard descriptors and goes on
# expect: timeout
# limits: timeout=1
import os, time
os.closerange(0, 3)
time.sleep(20)
