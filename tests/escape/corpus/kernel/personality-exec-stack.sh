# id: kernel-personality-exec-stack
# category: kernel
# profile: open
# threat: uses the system's own tools for the same doors
# expect: success error
for c in 'unshare -Ur id -u' 'unshare -n true' 'setarch -R true' 'chroot / true' 'mount -t tmpfs x /tmp' 'nsenter -t 1 -m true' 'chrt -f 1 true' 'dmesg' 'hostname pwned' 'date -s 12:00' 'keyctl show' 'ip link add d type dummy' 'mknod z c 1 5' 'swapoff -a' 'renice -n -5 $$' 'prlimit --nofile=100000:100000 true'; do
    set -- $c
    command -v "$1" >/dev/null || continue
    if timeout 2 sh -c "$c" >/dev/null 2>&1; then echo 'ESC''APED:' "$c"; fi
done
echo end
