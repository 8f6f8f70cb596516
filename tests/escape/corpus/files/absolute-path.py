# id: files-absolute-path
# category: files
# profile: open
# threat: reads and writes beside a world-writable file of the host by its absolute path
# expect: success error
import os
for f in (lambda: print('ESC' + 'APED:', open('@CANARY_FILE@').read()), lambda: print('ESC' + 'APED:', os.listdir('@CANARY_DIR@')),
          lambda: print('ESC' + 'APED:', open('@CANARY_DIR@/pwned', 'w').write('x'))):
    try:
        f()
    except OSError as e:
        print('contained', e.errno)
