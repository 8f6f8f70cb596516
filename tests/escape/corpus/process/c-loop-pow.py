# id: process-c-loop-pow
# category: process
# profile: strict
# threat: sits in C code that holds the interpreter's lock and never looks at signals
# expect: timeout
# limits: timeout=1
x = (1 << 3000000) - 1
y = x ** 3000
print(len(str(y)))
