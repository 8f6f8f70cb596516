# id: resource-output-tiny-writes
# category: resource
# profile: open
# threat: a flood of single bytes, each a wake-up of the reader
# expect: timeout
# limits: timeout=2 output=65536
import os
while True:
    os.write(1, b'.')
