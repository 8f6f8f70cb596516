# id: leak-etc-listing
# category: leak
# profile: open
# threat: the configuration of the host is visible
# expect: success error
import os
names = sorted(os.listdir('/etc'))
print(names)
for n in ('shadow', 'gshadow', 'sudoers', 'ssh', 'fstab', 'crontab', 'machine-id', 'resolv.conf.bak', 'apt', 'systemd', 'cron.d', 'subuid', 'hostname.host'):
    if n in names:
        print('ESC' + 'APED:', n)
