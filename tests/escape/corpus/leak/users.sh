# id: leak-users
# category: leak
# profile: open
# threat: learns the users of the host
# expect: success error
ls /home /root 2>/dev/null | grep -q . && echo 'ESC''APED: home directories'
getent passwd | wc -l
n=$(getent passwd | wc -l)
[ "$n" -gt 8 ] && echo 'ESC''APED: the passwd of the host' "$n"
echo end
