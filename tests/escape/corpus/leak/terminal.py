# id: leak-terminal
# category: leak
# profile: open
# threat: the caller's terminal is its controlling terminal
# expect: success error
import os
try:
    fd = os.open('/dev/tty', os.O_RDWR)
    print('ESC' + 'APED: controlling terminal')
except OSError as e:
    print(e.errno)
for fd in range(3):
    if os.isatty(fd):
        print('ESC' + 'APED: a terminal on', fd)
print(os.getsid(0), os.getpgid(0))
