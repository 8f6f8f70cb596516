# id: cross-random-state
# category: cross
# profile: strict
# threat: two runs draw the same random numbers, because both woke from the same memory
# expect: success
# runs: 2
# differ: stdout
import random
import secrets
import uuid
print(random.random(), random.getrandbits(64))
