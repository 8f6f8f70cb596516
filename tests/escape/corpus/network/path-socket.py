# id: network-path-socket
# category: network
# profile: open
# threat: a socket file of the host is a door that read-only mounts do not close
# expect: success error
import os, socket, stat
paths = ['@UNIX_SOCKET@', '/run/docker.sock', '/var/run/docker.sock', '/run/dbus/system_bus_socket', '/run/systemd/private', '/run/containerd/containerd.sock', '/dev/log', '/tmp/.X11-unix/X0']
for p in paths:
    try:
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(1)
        s.connect(p)
        print('ESC' + 'APED:', p)
    except OSError as e:
        print('contained', e.errno)
for base, dirs, names in os.walk('/'):
    if base.startswith('/proc'):
        dirs[:] = []
        continue
    if base.count('/') > 4:
        dirs[:] = []
    for n in names:
        try:
            if stat.S_ISSOCK(os.lstat(os.path.join(base, n)).st_mode):
                print('ESC' + 'APED: socket file', base, n)
        except OSError:
            pass
