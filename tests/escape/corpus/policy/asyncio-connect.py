# id: policy-asyncio-connect
# category: policy
# profile: strict
# threat: asyncio opens a connection
# expect: refused error
import asyncio
async def main():
    r, w = await asyncio.wait_for(asyncio.open_connection('127.0.0.1', @TCP_PORT@), 2)
    w.write(b'x')
    print('ESC' + 'APED:')
asyncio.run(main())
