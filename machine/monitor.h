/* The programs of a virtual machine: QEMU, and a virtiofsd for each share. */
#pragma once

#include <sys/types.h>

#include "machine/wall.h"

#define MONITOR_QEMU "/usr/bin/qemu-system-x86_64"

struct monitor_options {
    bool is_emulated; /* every instruction is translated: no KVM */
    unsigned memory_mb, cpus;
    const struct wall_share *shares;
    size_t n_shares;
    bool has_grants; /* the share GRANTS_TAG is there, too */
    int link;        /* QEMU's end of the serial port */
    int console;     /* where the console, and what these programs have to say, are written */
};

struct monitor {
    pid_t qemu;
    pid_t daemons[WALL_SHARES_MAX + 1];
    size_t n_daemons;
};

/* The parts that a machine needs, each by itself: its place, or what it can do, goes into `found`.
 * E_UNSUPPORTED: it is not there, and the hint says what to install. */
#define MONITOR_PARTS 3
#define MONITOR_TEXT  128

struct monitor_part {
    const char *name;
    int (*check)(char found[MONITOR_TEXT], struct error *err);
    bool is_for_kvm; /* not needed where instructions are translated */
};

extern const struct monitor_part monitor_parts[MONITOR_PARTS];

/* Whether they can be started, and with what they would be. E_UNSUPPORTED says what is missing, and
 * the hint what to install. */
int monitor_check(bool is_emulated, struct error *err);

/* Inside (machine/wall.h). They end with this process, which is the first of its namespace. */
int monitor_start(const struct monitor_options *options, struct monitor *ret_monitor,
                  struct error *err);
