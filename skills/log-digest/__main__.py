"""python3 -m skills.log_digest FILE"""

import json
import sys

from . import digest

if len(sys.argv) != 2:
    sys.exit("usage: python3 -m skills.log_digest FILE")
print(json.dumps(digest(sys.argv[1]), indent=1, ensure_ascii=False))
