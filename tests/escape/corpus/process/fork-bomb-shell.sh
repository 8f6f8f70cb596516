# id: process-fork-bomb-shell
# category: process
# profile: open
# threat: the classic function that calls itself twice
# expect: timeout error
# limits: pids=32 timeout=2
n=0
f() { [ "$1" -gt 12 ] && { sleep 5; return; }; f $(($1 + 1)) & f $(($1 + 1)) & wait; }
f 0 2>/dev/null
echo end
