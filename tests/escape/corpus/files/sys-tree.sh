# id: files-sys-tree
# category: files
# profile: open
# threat: reads and writes the device tree and the control groups of the host
# expect: success error
ls /sys 2>/dev/null | sed 's/^/ESC''APED: sys /'
find / -name cgroup.procs -o -name release_agent -o -name memory.max 2>/dev/null | head -3 | sed 's/^/ESC''APED: /'
cat /proc/self/cgroup | grep -E 'belljar|user.slice|system.slice|docker' | sed 's/^/ESC''APED: cgroup path /'
echo end
