# id: files-chdir-old-root
# category: files
# profile: open
# threat: was left standing in the old root
# expect: success error
import os
print(os.getcwd())
if not os.getcwd().startswith('/'):
    print('ESC' + 'APED:', os.getcwd())
os.chdir('..')
for i in range(40):
    os.chdir('..')
print(sorted(os.listdir('.')))
if os.stat('.').st_ino != os.stat('/').st_ino or os.path.exists('.@CANARY_DIR@'):
    print('ESC' + 'APED: another root')
