# id: resource-memory-thread-stacks
# category: resource
# profile: open
# threat: memory as stacks of threads
# expect: error memory_exceeded
# limits: memory=128 timeout=10 pids=64
import sys, threading, time
threading.stack_size(64 << 20)
sys.setrecursionlimit(100000)
there = threading.Barrier(21)  # all at once, however slow the machine is
def hold():  # long enough for a look at it, where no cgroup counts
    there.wait()
    time.sleep(1)
def deep(n):
    return deep(n - 1) if n else hold()
def fill():
    try:
        deep(50000)
    except MemoryError:
        there.abort()
for i in range(20):
    threading.Thread(target=fill, daemon=True).start()
hold()
