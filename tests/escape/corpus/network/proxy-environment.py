# id: network-proxy-environment
# category: network
# profile: open
# threat: finds proxy settings that would lead out
# expect: success error
import os
for k in os.environ:
    if 'proxy' in k.lower():
        print('ESC' + 'APED:', k)
print('end')
