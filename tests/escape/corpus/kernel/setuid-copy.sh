# id: kernel-setuid-copy
# category: kernel
# profile: open
# threat: a setuid bit on a copy of a shell, and the system's own setuid programs
# expect: success error
# uncovered: /proc/self/status, where it looks for its rights, cannot be read
cp /bin/sh ./s && chmod 6755 ./s
./s -p -c 'test "$(id -u)" = 0 && echo ESC""APED: copy'
for p in /usr/bin/su /usr/bin/passwd /usr/bin/mount /usr/bin/newgrp /usr/bin/sudo /usr/bin/chsh; do
    test -x "$p" && timeout 1 "$p" --version </dev/null >/dev/null 2>&1
done
timeout 1 su -c 'echo ESC""APED: su' </dev/null
grep -q '^NoNewPrivs:.*1$' /proc/self/status || echo 'ESC''APED: new privileges'
echo end
