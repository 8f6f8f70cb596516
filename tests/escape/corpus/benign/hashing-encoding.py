# id: benign-hashing-encoding
# category: benign
# profile: strict
# threat: none: digests and encodings
# expect: success
# require: 2cf24dba
import base64
import hashlib
import binascii
import zlib
import uuid
print(hashlib.sha256(b'hello').hexdigest()[:8], base64.b64encode(b'x'), zlib.crc32(b'x'), uuid.uuid5(uuid.NAMESPACE_DNS, 'a'))
