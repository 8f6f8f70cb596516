# id: files-standard-profile-paths
# category: files
# profile: standard
# threat: the standard profile has file access, and must not reach further than the open one
# expect: success error refused
import pathlib
for p in ('@CANARY_FILE@', '/etc/shadow', '/proc/1/environ', '/proc/self/mem', '/root', '/home', '/home/user'):
    q = pathlib.Path(p)
    try:
        print('ESC' + 'APED:', [f for f in q.iterdir() if str(f) != '/home/user'] or q.read_bytes() if q.is_dir() else q.read_bytes()[:4])
    except (OSError, PermissionError) as e:
        print(p[:5], type(e).__name__)
