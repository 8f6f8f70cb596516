# id: resource-output-cyclic-result
# category: resource
# profile: strict
# threat: a result that contains itself
# expect: success
result = {}
result['self'] = result
result[1] = [result, float('nan'), float('inf'), 10 ** 5000, b'\xff', '\ud800']
