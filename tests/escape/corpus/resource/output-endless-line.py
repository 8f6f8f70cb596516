# id: resource-output-endless-line
# category: resource
# profile: strict
# threat: one line without an end
# expect: timeout
# limits: timeout=2 output=65536
while True:
    print('x' * 1000, end='')
