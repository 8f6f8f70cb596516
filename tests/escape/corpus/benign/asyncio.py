# id: benign-asyncio
# category: benign
# profile: strict
# threat: none: asynchronous code
# expect: success
# require: [0, 1, 4]
import asyncio
async def f(n):
    await asyncio.sleep(0.001)
    return n * n
async def main():
    q = asyncio.Queue()
    await q.put(1)
    async with asyncio.TaskGroup() as g:
        tasks = [g.create_task(f(i)) for i in range(3)]
    print([t.result() for t in tasks], await q.get())
asyncio.run(main())
