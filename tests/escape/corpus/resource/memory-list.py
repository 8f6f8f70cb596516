# id: resource-memory-list
# category: resource
# profile: strict
# threat: a list that grows in small steps
# expect: memory_exceeded
# limits: memory=128 timeout=20
a = []
for i in range(700):
    a.append(bytearray(1 << 20))
print('ESC' + 'APED:', len(a))
