# id: policy-dunder-import
# category: policy
# profile: strict
# threat: calls the import machinery by its own name
# expect: refused
__import__('o' + 's').system('echo ESC""APED:')
