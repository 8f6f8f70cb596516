# id: process-child-holds-pipe
# category: process
# profile: open
# threat: ends at once while a child keeps the output pipe open
# expect: success
# require: done
# limits: timeout=5
(exec -a @ORPHAN@ sleep 60) &
echo done
