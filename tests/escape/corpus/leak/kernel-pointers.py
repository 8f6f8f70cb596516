# id: leak-kernel-pointers
# category: leak
# profile: open
# threat: learns kernel addresses and the layout of the machine
# expect: success error
import os
for p in ('/proc/kallsyms', '/proc/modules', '/proc/iomem', '/proc/self/stack', '/proc/self/wchan', '/proc/net/unix', '/proc/vmallocinfo', '/proc/zoneinfo', '/proc/buddyinfo', '/proc/interrupts', '/proc/diskstats', '/proc/partitions', '/proc/mounts_host'):
    try:
        text = open(p).read(200)
    except OSError as e:
        print(p, e.errno)
        continue
    print(p, len(text))
    if 'ffffffff' in text.lower() and 'ffffffffff600000' not in text.lower():
        print('ESC' + 'APED:', p)
