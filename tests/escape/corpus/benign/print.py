# id: benign-print
# category: benign
# profile: strict
# threat: none: the smallest program
# expect: success
# require: hello
print('hello')
