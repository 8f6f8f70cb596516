/* Directories that a server may grant to its programs: mounts of the host, which whoever started
 * belljar-machine has made, read-only and without what is mounted below them. All of them are in
 * one share, each under its number; the machine shows them at their own paths.
 */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "wire/machine.h"

#define GRANTS_TAG "granted"

struct grants {
    struct {
        int fd;
        const char *path; /* of the host, resolved */
    } list[MACHINE_GRANTS_MAX];
    size_t count;
    const char *hidden[MACHINE_HIDDEN_MAX]; /* below them: Belljar's own places */
    size_t n_hidden;
};

/* "FD=PATH". -1: it is not that, or there are too many. */
int grants_add(struct grants *grants, const char *text);
int grants_hide(struct grants *grants, const char *path);

/* Makes the directory `place` the share. Its mounts are closed. */
int grants_show(struct grants *grants, const char *place, struct error *err);
