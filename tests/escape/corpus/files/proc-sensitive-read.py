# id: files-proc-sensitive-read
# category: files
# profile: open
# threat: reads kernel files that tell about the whole machine
# expect: success error
import os
for p in ('/proc/kcore', '/proc/keys', '/proc/key-users', '/proc/timer_list', '/proc/sched_debug', '/proc/sysrq-trigger', '/proc/kmsg', '/proc/kpagecount', '/proc/kpageflags', '/proc/vmallocinfo', '/proc/slabinfo',
          '/proc/acpi', '/proc/scsi', '/proc/bus', '/proc/irq', '/proc/fs', '/proc/tty/drivers', '/proc/config.gz', '/proc/iomem', '/proc/ioports', '/proc/latency_stats'):
    try:
        data = os.listdir(p) if os.path.isdir(p) else open(p, 'rb').read(64)
        if data:
            print('ESC' + 'APED:', p, data[:3] if isinstance(data, list) else data[:16])
    except OSError as e:
        print(p, e.errno)
try:
    with open('/proc/kallsyms') as f:
        for line in f:
            if int(line.split()[0], 16):
                print('ESC' + 'APED: kernel address', line)
            break
except OSError as e:
    print(e.errno)
