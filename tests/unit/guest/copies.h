/* A small world for the tests of memory images: a warm interpreter whose memory is on a sealed
 * file, kernels forked from it that run cells, images of them, and copies. No sandbox around it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "guest/image/image.h"

/* One kernel. */
struct kernel {
    pid_t pid;
    int control; /* cells and requests to it */
    int report;  /* answers */
    int images[IMAGE_CHAIN_MAX + 1];
    size_t n_images; /* it is a copy of these */
};

/* The parts of an image outside. */
struct snapshot {
    int memory;
    int files; /* -1: without */
    int parents[IMAGE_CHAIN_MAX + 1];
    size_t n_parents;
    char said[1200]; /* all that came out of the status pipe */
};

/* Once: the interpreter with numpy and pandas, moved to its file. */
void copies_start(void);

void kernel_start(struct kernel *k);
void kernel_end(struct kernel *k);

/* Runs a cell; the answer is repr() of the last expression, or "!Type: message". Valid until the
 * next call. */
const char *kernel_run(struct kernel *k, const char *code);

/* NULL, or why not. */
const char *kernel_image(struct kernel *k, struct snapshot *ret, unsigned flags);
#define IMAGE_BY_ITSELF  1
#define IMAGE_FLAT       2
#define IMAGE_WITH_FILES 4

/* Supervisor's part: nothing changes from here on. 0 or -errno. */
int snapshot_seal(struct snapshot *s);
void snapshot_done(struct snapshot *s);

/* A fresh kernel becomes a copy: NULL, or why not. "" if it died. */
const char *kernel_restore(struct kernel *k, const struct snapshot *s);
