# Never ends by itself. What it printed before the limit is kept.
n = 0
print("counting, and never stopping")
while True:
    n += 1
    if n in (1_000, 1_000_000):
        print("reached", n, flush=True)
