# id: control-segfault
# category: control
# profile: open
# threat: crashes the interpreter
# expect: error
import ctypes
ctypes.string_at(0)
