# id: process-exec-loop
# category: process
# profile: open
# threat: a process that is replaced all the time and never the same
# expect: timeout
# limits: timeout=1
# process: names /tmp
f=/tmp/f; printf '#!/bin/bash\nexec /tmp/f\n' > $f; chmod +x $f; exec $f
