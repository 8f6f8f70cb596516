# id: kernel-raise-limits
# category: kernel
# profile: open
# threat: raises its own hard limits
# expect: success error
import resource
for name in ('RLIMIT_NOFILE', 'RLIMIT_NPROC', 'RLIMIT_FSIZE', 'RLIMIT_CORE', 'RLIMIT_AS', 'RLIMIT_DATA', 'RLIMIT_MEMLOCK',
             'RLIMIT_RTPRIO', 'RLIMIT_NICE', 'RLIMIT_MSGQUEUE', 'RLIMIT_STACK', 'RLIMIT_CPU'):
    n = getattr(resource, name)
    soft, hard = resource.getrlimit(n)
    if hard == resource.RLIM_INFINITY:
        continue
    for new in (hard + 1, hard * 2 + 10, resource.RLIM_INFINITY):
        try:
            resource.setrlimit(n, (new, new))
            print('ESC' + 'APED:', name, hard, resource.getrlimit(n))
        except (ValueError, OSError) as e:
            pass
        try:
            resource.prlimit(1, n, (new, new))
            print('ESC' + 'APED: pid 1', name)
        except (ValueError, OSError) as e:
            pass
print('end')
