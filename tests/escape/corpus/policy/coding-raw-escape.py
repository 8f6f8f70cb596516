# vim: set fileencoding=raw_unicode_escape :
# id: policy-coding-raw-escape
# category: policy
# profile: strict
# threat: hides a line break in a comment by an escape that only one reader decodes
# expect: refused
# \u000aimport os; os.system('echo ESC""APED:'); print('ESC' + 'APED:')
