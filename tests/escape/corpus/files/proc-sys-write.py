# id: files-proc-sys-write
# category: files
# profile: open
# threat: changes the kernel's settings through /proc/sys and friends
# expect: success error
import os
targets = ['/proc/sys/kernel/core_pattern', '/proc/sys/kernel/modprobe', '/proc/sys/kernel/hostname', '/proc/sys/kernel/sysrq', '/proc/sys/vm/overcommit_memory',
           '/proc/sys/vm/drop_caches', '/proc/sys/fs/binfmt_misc/register', '/proc/sys/net/ipv4/ip_forward', '/proc/sys/user/max_user_namespaces', '/proc/sysrq-trigger',
           '/proc/sys/kernel/ns_last_pid', '/proc/sys/kernel/shmmax', '/proc/sys/fs/mqueue/msg_max', '/proc/irq/default_smp_affinity', '/proc/bus/pci/devices', '/proc/acpi/wakeup',
           '/proc/scsi/scsi', '/proc/timer_list', '/proc/kcore', '/proc/mtrr', '/proc/driver', '/proc/fs/nfsd', '/proc/self/clear_refs_x', '/proc/1/oom_score_adj', '/proc/1/comm',
           '/sys/kernel/uevent_helper', '/sys/fs/cgroup/release_agent', '/sys/fs/cgroup/cgroup.procs', '/sys/kernel/mm/transparent_hugepage/enabled', '/sys/power/state']
for p in targets:
    try:
        fd = os.open(p, os.O_WRONLY)
    except OSError as e:
        print(p, e.errno)
        continue
    if os.fstat(fd).st_rdev == os.makedev(1, 3):
        print(p, 'is covered')
    elif p.startswith('/proc/1/'):
        try:
            os.write(fd, b'-1000')
            print('ESC' + 'APED:', p)
        except OSError as e:
            print(p, e.errno)
    else:
        print('ESC' + 'APED: open for writing', p)
