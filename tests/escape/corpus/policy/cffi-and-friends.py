# id: policy-cffi-and-friends
# category: policy
# profile: strict
# threat: native doors other than ctypes
# expect: refused
import _ctypes
import _posixsubprocess
import mmap
import fcntl
import resource
import posix
posix.system('echo ESC""APED:')
