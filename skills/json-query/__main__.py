"""python3 -m skills.json_query FILE [PATH]"""

import json
import sys

from . import load, query, shape

if len(sys.argv) not in (2, 3):
    sys.exit("usage: python3 -m skills.json_query FILE [PATH]")
data = load(sys.argv[1])
print(json.dumps(query(data, sys.argv[2]) if len(sys.argv) == 3 else shape(data), indent=1, ensure_ascii=False))
