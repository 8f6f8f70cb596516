# id: control-exit-refused
# category: control
# profile: open
# threat: ends with the code of a refusal
# expect: error
import sys
sys.stderr.write('refused by policy\n')
sys.exit(126)
