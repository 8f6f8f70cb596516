# id: process-keyboardinterrupt-swallow
# category: process
# profile: strict
# threat: catches everything, so that an interruption is only another exception
# expect: timeout
# limits: timeout=1
while True:
    try:
        while True:
            pass
    except BaseException:
        pass
