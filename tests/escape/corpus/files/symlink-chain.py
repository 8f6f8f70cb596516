# id: files-symlink-chain
# category: files
# profile: open
# threat: a chain of links that ends outside, followed by reading, writing and listing
# expect: success error
import os
os.chdir('/tmp')
os.symlink('@CANARY_DIR@', 'a')
os.symlink('a', 'b')
os.symlink('b/../b', 'c')
for p in ('a', 'b', 'c'):
    for f in (lambda: print('ESC' + 'APED:', os.listdir(p)), lambda: print('ESC' + 'APED:', open(p + '/pwned', 'w'))):
        try:
            f()
        except OSError as e:
            print(p, e.errno)
