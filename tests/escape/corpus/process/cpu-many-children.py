# id: process-cpu-many-children
# category: process
# profile: open
# threat: takes more processor time than wall time with many children
# expect: timeout
# limits: timeout=1 pids=32
import os
for i in range(8):
    if os.fork() == 0:
        while True:
            pass
while True:
    pass
