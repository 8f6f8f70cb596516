# id: control-exit-codes
# category: control
# profile: open
# threat: ends with codes that mean something to the supervisor
# expect: error
import os
os._exit(124)
