# id: leak-environment-bash
# category: leak
# profile: open
# threat: the same from Bash, with the environment of every visible process
# expect: success
env
set
cat /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n'
echo end
