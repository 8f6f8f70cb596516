# id: files-standard-profile-write
# category: files
# profile: standard
# threat: writes outside the workspace from the standard profile
# expect: success error refused
from pathlib import Path
for p in ('@CANARY_DIR@/pwned', '/usr/lib/python3/dist-packages/bj.pth', '/etc/bj', '/bj', '/proc/self/uid_map', '/dev/bj'):
    try:
        Path(p).write_text('x')
        print('ESC' + 'APED:', p)
    except (OSError, PermissionError) as e:
        print(type(e).__name__)
