# id: resource-output-deep-result
# category: resource
# profile: strict
# threat: a result nested so deep that converting it overflows the stack
# expect: success
result = []
for i in range(200000):
    result = [result]
