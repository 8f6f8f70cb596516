# id: control-fake-memory-error
# category: control
# profile: strict
# threat: raises the exception of a memory limit without using memory
# expect: error
raise MemoryError('memory limit exceeded')
