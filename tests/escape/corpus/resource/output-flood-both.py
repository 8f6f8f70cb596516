# id: resource-output-flood-both
# category: resource
# profile: open
# threat: floods both streams at once
# expect: success
# limits: timeout=10 output=65536
import os, threading
def flood(fd):
    for i in range(400):
        os.write(fd, b'y' * 65536)
t = threading.Thread(target=flood, args=(2,))
t.start()
flood(1)
t.join()
