# id: control-big-exit-code
# category: control
# profile: open
# threat: an exit code that is zero after truncation
# expect: success
import sys
sys.exit(256)
