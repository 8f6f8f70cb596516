# id: files-dot-dot
# category: files
# profile: open
# threat: climbs with dots from every directory it has
# expect: success error
for d in / /tmp /workspace /proc/self/cwd /usr/lib /dev/shm /etc; do
    for up in .. ../.. ../../../../../../../.. ; do
        cat "$d/$up@CANARY_FILE@" 2>/dev/null && echo 'ESC''APED:' "$d/$up"
    done
done
echo end
