# id: policy-vars-of-modules
# category: policy
# profile: standard
# threat: the names of a module hand out modules and functions that the profile refuses
# expect: refused error
# limits: timeout=10 memory=512
import json
import os
import random
found = [k for m in (json, os, random) for k, v in vars(m).items() if type(v).__name__ == "module" or k in ("system", "fork", "popen", "_os", "__builtins__", "__loader__", "__spec__")]
print("ESC" + "APED:" if found else "nothing", found)
raise SystemExit(1)
