# id: control-result-invalid-text
# category: control
# profile: strict
# threat: a result that is no valid text in any form that JSON knows
# expect: success
result = {'a\ud800': '\udcff\0\x7f\u2028', 'n': float('-inf'), 'i': -10 ** 400, 3: {4, 5}, (1, 2): b'\x80', None: 1j}
