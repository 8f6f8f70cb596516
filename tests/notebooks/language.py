# %% Plain Python, over several cells: classes, closures, generators
from __future__ import annotations

import collections
import dataclasses
import functools
import itertools


@dataclasses.dataclass(order=True)
class Card:
    rank: int
    suit: str = dataclasses.field(compare=False)

    def __str__(self) -> str:
        return f"{self.rank}{self.suit}"


deck = [Card(r, s) for s in "♠♥" for r in range(1, 4)]
print(*deck)

# %% What an earlier cell defined
max(deck), sorted(deck, reverse=True)[0].suit

# %%
@functools.lru_cache(maxsize=None)
def ways(n: int) -> int:
    return 1 if n <= 1 else ways(n - 1) + ways(n - 2)


ways(80)

# %% A cache outlives its cell
print(ways.cache_info().currsize)
ways(81)

# %% Closures and generators
def counter():
    n = 0

    def step():
        nonlocal n
        n += 1
        return n

    return step


step = counter()
squares = (k * k for k in itertools.count())
[step(), step(), next(squares), next(squares), next(squares)]

# %% They go on where they were
[step(), next(squares)]

# %% A comprehension sees the globals of the cells
limit = 3
{k: [j for j in range(k) if j < limit] for k in range(limit + 2)}

# %% match, walrus, star
def kind(value):
    match value:
        case {"type": "point", "at": [x, y]}:
            return f"point {x},{y}"
        case [first, *rest] if (n := len(rest)):
            return f"list of {n + 1}"
        case str():
            return "text"
        case _:
            return "other"


[kind({"type": "point", "at": [1, 2]}), kind([1, 2, 3]), kind("s"), kind(None)]

# %% Text in several scripts
words = collections.Counter("straße Ελλάδα привет 你好 مرحبا 🎉 straße".split())
words.most_common(1)

# %% Context managers and exceptions
class Trace:
    def __enter__(self):
        print("in")
        return self

    def __exit__(self, kind, value, traceback):
        print("out", kind.__name__ if kind else None)
        return kind is ZeroDivisionError


with Trace():
    1 / 0
print("after")

# %% await at the top of a cell
import asyncio


async def twice(n):
    await asyncio.sleep(0)
    return 2 * n


await asyncio.gather(*(twice(n) for n in range(4)))

# %% Threads
import concurrent.futures

with concurrent.futures.ThreadPoolExecutor(4) as workers:
    total = sum(workers.map(lambda n: n * n, range(10)))
total

# %% del, global, and names of our own
del limit
"limit" in globals(), __name__

# %% A module written and imported
with open("helper_of_ours.py", "w") as file:
    file.write("def greet(name):\n    return f'hello {name}'\n")
import sys

sys.path.insert(0, ".")
import helper_of_ours

helper_of_ours.greet("bell")

# %% sqlite, json, regular expressions
import json
import re
import sqlite3

db = sqlite3.connect(":memory:")
db.execute("create table t (a, b)")
db.executemany("insert into t values (?, ?)", [(i, i % 3) for i in range(9)])
json.dumps(dict(db.execute("select b, sum(a) from t group by b order by b"))), re.findall(r"\b(\w)\w*", "some short words")

# %% A database outlives its cell
db.execute("select count(*) from t").fetchone()
