# id: resource-int-to-str
# category: resource
# profile: strict
# threat: quadratic conversions
# expect: timeout error
# limits: timeout=1
n = 7 ** 4000000
print(n % 10, len(f'{n:d}'))
