# id: process-c-loop-sum
# category: process
# profile: strict
# threat: an endless iterator consumed by a C function
# expect: timeout
# limits: timeout=1
import itertools
import collections
collections.deque(itertools.repeat(1), maxlen=0)
