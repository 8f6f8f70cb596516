# id: cross-random-system
# category: cross
# profile: open
# threat: the same for the operating system's and OpenSSL's generators
# expect: success
# runs: 2
# differ: stdout
import os, ssl, tempfile, uuid
print(os.urandom(8).hex(), ssl.RAND_bytes(8).hex(), uuid.uuid4(), next(tempfile._get_candidate_names()))
