# id: files-rename-race
# category: files
# profile: open
# threat: swaps a directory and a link as fast as it can while files are opened through them
# expect: success error
# limits: timeout=5
import os, threading, time
os.chdir('/tmp')
os.mkdir('real')
open('real/f', 'w').write('mine')
os.symlink('@CANARY_DIR@', 'link')
end = time.time() + 1
def swap():
    while time.time() < end:
        for a, b in (('real', 'x'), ('link', 'real'), ('real', 'link'), ('x', 'real')):
            try:
                os.rename(a, b)
            except OSError:
                pass
threading.Thread(target=swap).start()
while time.time() < end:
    for n in ('f', 'secret.txt'):
        try:
            if open('real/' + n).read() != 'mine':
                print('ESC' + 'APED:')
        except OSError:
            pass
print('end')
