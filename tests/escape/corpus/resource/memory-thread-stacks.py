# id: resource-memory-thread-stacks
# category: resource
# profile: open
# threat: memory as stacks of threads
# expect: error memory_exceeded
# limits: memory=128 timeout=10 pids=64
import sys, threading
threading.stack_size(64 << 20)
sys.setrecursionlimit(100000)
there = threading.Barrier(21)  # all at once, however slow the machine is
def deep(n):
    return deep(n - 1) if n else there.wait()
def fill():
    try:
        deep(50000)
    except MemoryError:
        there.abort()
for i in range(20):
    threading.Thread(target=fill, daemon=True).start()
there.wait()
