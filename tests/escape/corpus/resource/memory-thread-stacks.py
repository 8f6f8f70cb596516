# id: resource-memory-thread-stacks
# category: resource
# profile: open
# threat: memory as stacks of threads
# expect: error memory_exceeded
# limits: memory=128 timeout=10 pids=64
import threading, time
threading.stack_size(64 << 20)
def deep(n):
    return deep(n - 1) if n else time.sleep(2)
import sys
sys.setrecursionlimit(100000)
for i in range(20):
    threading.Thread(target=deep, args=(50000,), daemon=True).start()
time.sleep(3)
