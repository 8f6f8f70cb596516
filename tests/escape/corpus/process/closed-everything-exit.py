# id: process-closed-everything-exit
# category: process
# profile: open
# threat: closes every descriptor and ends with a code of its choice
# expect: error
# limits: timeout=3
import os
os.closerange(0, 4096)
os._exit(7)
