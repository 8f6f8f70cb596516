# id: benign-standard-files
# category: benign
# profile: standard
# threat: none: files in the workspace
# expect: success
# require: line 2
# process: names /workspace
import os.path
from pathlib import Path
p = Path('/workspace/sub/out.txt')
p.parent.mkdir()
p.write_text('line 1\nline 2\n')
with open('/workspace/sub/out.txt') as f:
    print(f.read())
print(os.path.getsize(str(p)), [q.name for q in Path('/workspace').rglob('*')])
