# id: resource-memory-string
# category: resource
# profile: strict
# threat: one huge string
# expect: memory_exceeded
# limits: memory=128 timeout=10
s = 'x' * (700 << 20)
print('ESC' + 'APED:', len(s))
