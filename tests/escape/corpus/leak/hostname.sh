# id: leak-hostname
# category: leak
# profile: open
# threat: learns the name of the machine
# expect: success error
# forbid: @HOSTNAME@-is-here
# uncovered: the name of the host is visible
for n in "$(uname -n)" "$(cat /proc/sys/kernel/hostname 2>/dev/null)" "$(cat /etc/hostname 2>/dev/null)"; do
    [ "$n" = "@HOSTNAME@" ] && echo "$n-is-here"
done
grep -w "@HOSTNAME@" /etc/hosts 2>/dev/null && echo 'ESC''APED: hosts file'
cat /etc/machine-id /var/lib/dbus/machine-id /proc/sys/kernel/random/boot_id 2>/dev/null
echo end
