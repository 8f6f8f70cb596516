/* The memory image: what a quiet Python kernel has changed since the zygote, written to a file, and
 * a fresh kernel of the same zygote that turns itself into a copy of it.
 *
 * The zygote's memory is mapped from a sealed file, so Linux itself tells changed pages (anonymous)
 * from unchanged ones. An image holds the changed ones, and an index: mappings, descriptors,
 * signals, timers, registers. A copy maps the pages privately over its own, and goes on where
 * image_write() was called, with the descriptors of its own sandbox in place of the source's.
 * Nothing here needs a privilege, and nothing crosses the sandbox but the file.
 *
 * What is not carried over is refused in words, before anything is done: threads, child processes,
 * pipes, sockets, shared memory, timers of POSIX, locks, files without a name. Lost, and harmless:
 * mlock, madvise, limits a program lowered for itself, that two descriptors share one offset.
 *
 * The image is hostile data: only the copy reads it, after checking, in a sandbox with nothing left
 * to lose. Whoever makes copies sees to it that they are of the same owner and profile: rules that
 * are enforced inside the process come with the image, the walls of the kernel do not.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/message.h"

/* An image refers to pages of the images its source was made from. Past this many a flat one is
 * written, which refers to none. */
#define IMAGE_CHAIN_MAX WIRE_IMAGES_MAX

/* The descriptor with which kernels read their own page tables. */
#define IMAGE_PAGEMAP_FD 59

struct image_refusal {
    char text[1024];     /* one line */
    unsigned has_advice; /* on shared memory, which is given once */
};

/* --- in the zygote --- */

/* Once, after the memory was moved to the sealed file, of which `base` is any page. 0 or -errno. */
int image_prepare(const void *base);

/* --- in a kernel --- */

#define IMAGE_OWN_MAX   8
#define IMAGE_TREES_MAX 4

struct image_kernel {
    const int *own; /* descriptors of ours, each copy has its own of the same number */
    size_t n_own;
    const char *const *trees; /* file systems of the sandbox's own, each copy has its own */
    size_t n_trees;
};

/* Opens IMAGE_PAGEMAP_FD, which only a dumpable process may: the caller sees to that. Nothing
 * happens where there are no images. 0 or -errno. */
int image_open_pagemap(void);

/* Before the program begins, with that open. 0 or -errno. */
int image_enrol(const struct image_kernel *kernel);

enum image_outcome {
    IMAGE_REFUSED = -1, /* nothing was written */
    IMAGE_WRITTEN = 0,  /* by this process: no_fork */
    IMAGE_WRITING = 1,  /* a child does it, and says so; it belongs to our parent, who reaps it */
    IMAGE_IS_COPY = 2,  /* this is not the process that called: it is the copy */
};

struct image_request {
    int memory; /* memfd, empty or of a fixed size */
    int files;  /* memfd for the trees below, or -1 */
    int status; /* pipe on which the writer reports: enum wire_image_word */
    /* Files of cgroups ("tasks", "cgroup.procs") to write "0" to: of the group that pays for the
     * image, and, with no_fork, of the one to go back to. */
    int join[WIRE_ATTACH_MAX], leave[WIRE_ATTACH_MAX];
    size_t n_join, n_leave;
    bool is_flat;
    bool is_sandboxed;       /* /proc shows our sandbox only: nothing else may run in it ... */
    uint32_t kernels;        /* ... but for these, see WIRE_IMAGE_KERNEL */
    bool no_fork;            /* the filter refuses it: this process writes the image itself */
    const char *const *pack; /* directories for `files` */
    size_t n_pack;
};

/* Can this process be copied now? Between cells, in the receive loop, with the lock of the
 * interpreter held and nothing in the buffers of stdout and stderr. The descriptors of the request
 * do not count. 0, or -1 and why: all reasons there are. */
int image_check(const struct image_request *request, struct image_refusal *why);

/* After image_check(), with nothing in between. Closes no descriptor. */
enum image_outcome image_write(const struct image_request *request, struct image_refusal *why);

struct image_source {
    int images[IMAGE_CHAIN_MAX]; /* all that the newest refers to, in any order, the newest last */
    size_t n_images;
    uint32_t note; /* for the copy */
};

/* In a fresh kernel that has called image_enrol(). Does not return if all goes well. -1 and why:
 * the process is as it was but for its working directory. Once the point of no return is passed,
 * failure is the end of the process with code 125. */
int image_restore(const struct image_source *source, struct image_refusal *why);

/* In a copy, first thing: gives back work space, gets new seeds for OpenSSL. -1: it must end. */
int image_awake(uint32_t *ret_note);
