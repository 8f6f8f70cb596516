# id: resource-memory-dict
# category: resource
# profile: strict
# threat: many small objects
# expect: memory_exceeded
# limits: memory=128 timeout=30
d = {}
for i in range(8000000):
    d[i] = str(i)
print('ESC' + 'APED:', len(d))
