# id: process-kill-everything-bash
# category: process
# profile: open
# threat: kills everything it can reach, itself included
# expect: error
trap '' TERM
kill -TERM -1
kill -9 -1
kill -9 0
echo end
