"""python3 -m skills.csv_profile FILE"""

import json
import sys

from . import profile

if len(sys.argv) != 2:
    sys.exit("usage: python3 -m skills.csv_profile FILE")
print(json.dumps(profile(sys.argv[1]), indent=1, ensure_ascii=False))
