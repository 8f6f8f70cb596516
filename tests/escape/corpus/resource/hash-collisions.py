# id: resource-hash-collisions
# category: resource
# profile: strict
# threat: keys that all collide
# expect: timeout
# limits: timeout=2
m = 2 ** 61 - 1
d = {}
for i in range(300000):
    d[i * m] = 1
print(len(d))
