/* The kernel that a virtual machine boots: the newest of the host's that has its modules. */
#pragma once

#include <stddef.h>

#include "base/error.h"

#define KERNEL_MODULES_MAX 32

struct kernel {
    char *image;                       /* /boot/vmlinuz-RELEASE */
    char *modules[KERNEL_MODULES_MAX]; /* paths of files, in the order of loading */
    size_t n_modules;
};

/* `boot` and `modules`: "/boot" and "/lib/modules". E_UNSUPPORTED: there is none. */
int kernel_find(const char *boot, const char *modules, struct kernel *ret_kernel,
                struct error *err);
void kernel_done(struct kernel *kernel);
