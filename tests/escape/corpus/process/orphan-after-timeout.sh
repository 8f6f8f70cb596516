# id: process-orphan-after-timeout
# category: process
# profile: open
# threat: orphans that outlive a timeout
# expect: timeout
# limits: timeout=1
for i in 1 2 3; do setsid bash -c 'trap "" TERM INT HUP; exec -a @ORPHAN@ sleep 30' & done
trap '' TERM INT HUP
sleep 30
