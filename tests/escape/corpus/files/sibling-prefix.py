# id: files-sibling-prefix
# category: files
# profile: open
# threat: names that only start like an allowed directory
# expect: success error
import os
for p in ('/tmp-x', '/tmp/../@CANARY_DIR@', '/workspacex', '/workspace/..@CANARY_DIR@', '/dev/shm/..@CANARY_DIR@', '//@CANARY_DIR@', '/./@CANARY_DIR@/.'):
    try:
        os.listdir(p)
        print('ESC' + 'APED:', p)
    except OSError as e:
        print(p.replace('@CANARY_DIR@', 'C'), e.errno)
