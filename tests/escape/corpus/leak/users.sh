# id: leak-users
# category: leak
# profile: open
# threat: learns the users of the host
# expect: success error
for d in /home /root; do ls -A $d 2>/dev/null | grep -qv '^user$' && echo 'ESC''APED: home directories'; done
getent passwd | wc -l
n=$(getent passwd | wc -l)
[ "$n" -gt 8 ] && echo 'ESC''APED: the passwd of the host' "$n"
echo end
