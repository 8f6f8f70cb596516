# id: policy-ctypes-libc
# category: policy
# profile: strict
# threat: calls C directly
# expect: refused
import ctypes
ctypes.CDLL(None).system(b'echo ESC""APED:')
