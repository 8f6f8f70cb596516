# id: resource-output-huge-result
# category: resource
# profile: strict
# threat: a result too large to carry
# expect: success
# limits: timeout=10 memory=512
result = ['x' * 1000] * 100000
