# id: leak-top-level
# category: leak
# profile: open
# threat: the root directory shows more than it needs to
# expect: success error
import os
names = set(os.listdir('/'))
print(sorted(names))
for n in names - {'bin', 'dev', 'etc', 'lib', 'lib32', 'lib64', 'libx32', 'proc', 'sbin', 'tmp', 'usr', 'var', 'workspace', 'home', 'run', 'opt', 'root', 'nix', 'srv'}:
    print('ESC' + 'APED:', n)
for n in ('var', 'home', 'run', 'opt', 'root', 'srv', 'mnt', 'media', 'boot'):
    if n in names:
        inside = os.listdir('/' + n)
        print(n, inside)
        if n in ('home', 'root', 'mnt', 'media', 'boot') and inside != {'home': ['user']}.get(n, []):
            print('ESC' + 'APED:', n, inside)
