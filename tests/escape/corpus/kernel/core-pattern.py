# id: kernel-core-pattern
# category: kernel
# profile: open
# threat: crashes so that the machine's core handler runs with the crash as its input
# expect: error
# limits: timeout=5
import ctypes, resource
try:
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    print('ESC' + 'APED: core limit')
except (OSError, ValueError) as e:
    print(e, flush=True)
if resource.getrlimit(resource.RLIMIT_CORE)[1] != 0:
    print('ESC' + 'APED: core limit', resource.getrlimit(resource.RLIMIT_CORE), flush=True)
ctypes.string_at(0)
