# id: process-bypass-strict-spawn
# category: process
# profile: strict
# threat: whatever the policy lets through, the strict profile starts no process
# expect: refused error success
# limits: timeout=10 memory=512
import asyncio
import sympy
import numpy as np
tries = [
    lambda: asyncio.base_events.subprocess.Popen(['/bin/echo', 'ESC' + 'APED:']),
    lambda: np.lib._datasource.os.system('echo ESC""APED:'),
    lambda: np.compat.py3k.os.posix_spawn('/bin/echo', ['echo', 'ESC' + 'APED:'], {}),
    lambda: sympy.external.importtools.sys.modules['os'].execv('/bin/echo', ['echo', 'ESC' + 'APED:']),
]
for t in tries:
    try:
        t()
    except Exception as e:
        print(type(e).__name__)
