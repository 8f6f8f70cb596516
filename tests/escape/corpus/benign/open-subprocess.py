# id: benign-open-subprocess
# category: benign
# profile: open
# threat: none: programs and pipes
# expect: success
# require: 6
import os, shutil, subprocess, tempfile
print(subprocess.run(['sh', '-c', 'echo $((1+2+3))'], capture_output=True, text=True).stdout)
with tempfile.TemporaryDirectory() as d:
    open(os.path.join(d, 'f'), 'w').write('x')
    print(os.listdir(d), shutil.which('sh'))
