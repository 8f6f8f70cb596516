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
    int link;    /* QEMU's end of the serial port */
    int console; /* where the console, and what these programs have to say, are written */
};

struct monitor {
    pid_t qemu;
    pid_t daemons[WALL_SHARES_MAX];
    size_t n_daemons;
};

/* Whether they can be started, and with what they would be. E_UNSUPPORTED says what is missing, and
 * the hint what to install. */
int monitor_check(bool is_emulated, struct error *err);

/* Inside (machine/wall.h). They end with this process, which is the first of its namespace. */
int monitor_start(const struct monitor_options *options, struct monitor *ret_monitor,
                  struct error *err);
