# id: cross-files
# category: cross
# profile: open
# threat: files of an earlier run are still there
# expect: success error
# runs: 2
import glob, os
places = sorted({os.path.realpath(d) for d in ('/tmp', '/workspace', '/dev/shm', '/var/tmp', '/run', '/home', os.path.expanduser('~'))})
for d in places:
    for p in glob.glob(d + '/*') + glob.glob(d + '/.*'):
        print(p)
        if 'bjleft' in p:
            print('ESC' + 'APED:', p)
for d in places:
    try:
        open(d + '/bjleft', 'w').close()
        open(d + '/.bjleft', 'w').close()
    except OSError as e:
        print(d, e.errno)
