# id: process-nohup-sleeper
# category: process
# profile: open
# threat: leaves a sleeper behind that ignores the hang-up
# expect: success error
nohup bash -c 'exec -a @ORPHAN@ sleep 30' >/dev/null 2>&1 &
echo started
