# id: files-mountinfo-flags
# category: files
# profile: open
# threat: finds a mount without nosuid and nodev, or one that shows a path of the host
# expect: success error
with open('/proc/self/mountinfo') as f:
    for line in f:
        left, _, right = line.partition(' - ')
        fields = left.split()
        where, opts = fields[4], fields[5].split(',')
        if 'nosuid' not in opts:
            print('ESC' + 'APED: suid', where)
        if 'nodev' not in opts and not where.startswith('/dev/') and fields[3] != '/null':
            print('ESC' + 'APED: dev', where)
        if any(o.startswith(('shared:', 'master:')) for o in fields[6:]):
            print('ESC' + 'APED: propagation', where, fields[6:])
        if 'bjcanary' in line or '/work' == where[:5] and not where.startswith('/workspace'):
            print('ESC' + 'APED:', line)
print('end')
