# id: leak-machine-id
# category: leak
# profile: open
# threat: reads identifiers of the machine
# expect: success error
for p in ('/etc/machine-id', '/var/lib/dbus/machine-id', '/sys/class/dmi/id/product_uuid', '/etc/ssh/ssh_host_rsa_key', '/etc/ssh/ssh_host_ed25519_key', '/sys/class/net/eth0/address', '/proc/cmdline'):
    try:
        text = open(p).read().strip()
        if text:
            print('ESC' + 'APED:', p)
    except OSError as e:
        print(p, e.errno)
