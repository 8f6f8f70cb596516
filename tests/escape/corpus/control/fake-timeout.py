# id: control-fake-timeout
# category: control
# profile: strict
# threat: raises the exception of a timeout at once
# expect: error
raise TimeoutError('timeout')
