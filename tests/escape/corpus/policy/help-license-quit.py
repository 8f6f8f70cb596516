# id: policy-help-license-quit
# category: policy
# profile: strict
# threat: the site builtins hold file names and import pydoc
# expect: refused error
license._Printer__filenames = ['/etc/passwd']
license._Printer__lines = None
print('ESC' + 'APED:', license)
license()
help('os')
