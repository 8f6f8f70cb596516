# id: resource-memory-catch
# category: resource
# profile: strict
# threat: catches the shortage and goes on, to come out as a success
# expect: memory_exceeded timeout
# limits: memory=128 timeout=3
a = []
for i in range(700):
    try:
        a.append(bytearray(1 << 20))
    except MemoryError:
        pass
if len(a) > 200:
    print('ESC' + 'APED:', len(a))
while True:
    try:
        a.append(bytearray(1 << 20))
    except MemoryError:
        pass
