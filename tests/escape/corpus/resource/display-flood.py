# id: resource-display-flood
# category: resource
# profile: open
# threat: shows large things without end
# limits: timeout=3
# expect: timeout
from belljar import progress
data = b'\x89PNG' + b'x' * 6_000_000
while True:
    display({'image/png': data}, raw=True)
    progress(1, 2, 'y' * 900)
