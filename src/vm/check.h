/* Whether this host can have virtual machines, as far as that shows without starting one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define MACHINE_PARTS_MAX 8

/* KVM, QEMU, virtiofsd, a kernel. */
struct machine_part {
    char name[16];
    bool is_there;
    char text[256]; /* where it is, or why it is not there */
    char hint[256]; /* what to do; "": nothing */
};

/* Runs belljar-machine, which looks for them. E_UNSUPPORTED: it is not installed itself. */
int machine_parts(bool is_emulated, struct machine_part parts[MACHINE_PARTS_MAX], size_t *ret_count,
                  struct error *err);

/* E_UNSUPPORTED: the first one that is missing, with what to do. */
int machine_check(bool is_emulated, struct error *err);
