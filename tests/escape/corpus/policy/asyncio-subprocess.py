# id: policy-asyncio-subprocess
# category: policy
# profile: strict
# threat: asyncio can start programs, open sockets and hand over signal handlers
# expect: refused error
import asyncio
async def main():
    p = await asyncio.create_subprocess_shell('echo ESC""APED:')
    await p.wait()
    print('ESC' + 'APED:')
asyncio.run(main())
