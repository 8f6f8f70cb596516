# id: leak-stdin-is-empty
# category: leak
# profile: open
# threat: reads what was meant for the supervisor from its standard input
# expect: success
# require: nothing
import sys, os
data = sys.stdin.buffer.read() + os.read(0, 100)
print('nothing' if not data else 'ESC' + 'APED: ' + repr(data))
