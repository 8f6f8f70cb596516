# id: leak-environment
# category: leak
# profile: open
# threat: a variable of the supervisor's own environment shows inside
# expect: success
# forbid: BELLJAR_TEST_SECRET
# process: /proc cannot be listed
import os
for k, v in os.environ.items():
    print(k, v)
for p in os.listdir('/proc'):
    if p.isdigit():
        try:
            print(p, open(f'/proc/{p}/environ', 'rb').read())
        except OSError as e:
            print(p, e.errno)
