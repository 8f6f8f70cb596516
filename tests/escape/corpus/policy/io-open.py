# id: policy-io-open
# category: policy
# profile: strict
# threat: opens a file through io and codecs
# expect: refused
import io
from io import open as o, FileIO
import codecs
print(io.open('/etc/passwd').read(), FileIO('/etc/passwd').read(), codecs.open('/etc/passwd').read())
print('ESC' + 'APED:')
