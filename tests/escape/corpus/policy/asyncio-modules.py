# id: policy-asyncio-modules
# category: policy
# profile: strict
# threat: asyncio's modules import everything
# expect: refused error
import asyncio
print('ESC' + 'APED:', asyncio.base_events.subprocess.run(['/bin/echo', 'ESC' + 'APED:']))
