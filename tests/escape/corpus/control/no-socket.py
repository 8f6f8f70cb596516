# id: control-no-socket
# category: control
# profile: open
# threat: sends descriptors to the supervisor, which would have to close them, however long that takes
# expect: success
# require: none
import os, stat
found = []
for fd in range(3, 1024):
    try:
        if stat.S_ISSOCK(os.fstat(fd).st_mode):
            found.append(fd)
    except OSError:
        pass
print('none' if not found else 'ESC' + 'APED:', found)
