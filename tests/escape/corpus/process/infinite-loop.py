# id: process-infinite-loop
# category: process
# profile: strict
# threat: loops for ever
# expect: timeout
# limits: timeout=1
while True:
    pass
