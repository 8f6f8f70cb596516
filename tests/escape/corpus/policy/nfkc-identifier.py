# id: policy-nfkc-identifier
# category: policy
# profile: strict
# threat: writes a forbidden name in characters that the parser normalises
# expect: refused
ｅｖａｌ("print('ESC' + 'APED:')")
().__𝒸𝓁𝒶𝓈𝓈__
