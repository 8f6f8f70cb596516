# id: control-abort
# category: control
# profile: open
# threat: aborts the interpreter
# expect: error
import os
os.abort()
