# id: leak-cgroup-files
# category: leak
# profile: open
# threat: reads or changes its own control group
# expect: success error
# uncovered: stat shows that a path of the host exists; its content cannot be read
import os
for base in ('/sys/fs/cgroup', '/cgroup', '/run/cgroup'):
    if os.path.exists(base):
        print('ESC' + 'APED:', base)
with open('/proc/self/cgroup') as f:
    for line in f:
        path = line.rstrip().split(':', 2)[2]
        print(path)
        if path not in ('/', '/..') and 'belljar' in path:
            print('ESC' + 'APED: place in the tree', line)
