# id: process-sleep
# category: process
# profile: open
# threat: does nothing, for ever
# expect: timeout
# limits: timeout=1
exec sleep 100
