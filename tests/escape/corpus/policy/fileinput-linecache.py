# id: policy-fileinput-linecache
# category: policy
# profile: strict
# threat: small modules that read files
# expect: refused
import fileinput
import linecache
import tokenize
print('ESC' + 'APED:', linecache.getlines('/etc/passwd'), list(fileinput.input('/etc/passwd')))
