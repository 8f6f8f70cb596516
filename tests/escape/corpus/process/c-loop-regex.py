# id: process-c-loop-regex
# category: process
# profile: strict
# threat: a regular expression that takes for ever inside C
# expect: timeout
# limits: timeout=1
import re
print(re.match(r'(a+)+(a+)+(a+)+$', 'a' * 40 + 'b'))
