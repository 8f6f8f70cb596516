# id: leak-command-line
# category: leak
# profile: open
# threat: finds the caller's command line, paths or the name of its own file
# expect: success error
# forbid: @CANARY_DIR@
import os, sys
print(sys.argv, sys.executable, sys.prefix, __file__ if '__file__' in globals() else None)
for p in ('1', 'self', str(os.getppid())):
    for n in ('cmdline', 'comm', 'cwd', 'exe', 'status'):
        try:
            print(p, n, os.readlink(f'/proc/{p}/{n}') if n in ('cwd', 'exe') else open(f'/proc/{p}/{n}').read())
        except OSError as e:
            print(p, n, e.errno)
