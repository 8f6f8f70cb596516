/* Shared by files*.c: how a path is opened, as whom, and what a failure is called. */
#pragma once

#include <sys/stat.h>

#include "sandbox/files.h"

/* Acting as the sandbox's user, for the length of a scope. */
struct files_guard {
    bool is_other;
    uid_t uid; /* who we were */
    gid_t gid;
    int dumpable;
    int death_signal;
};

int files_enter(struct files_guard *guard, const struct files *files, struct error *err);
void files_leave(struct files_guard *guard);

/* In a fiber (base/fiber.h): pauses when its time is up, as ourselves meanwhile. Fails when nobody
 * waits for the work any more. Elsewhere: nothing. */
int files_pause(struct files_guard *guard, const struct files *files, struct error *err);

/* openat2(2) below `dir`; "" is `dir` itself. Links are never followed, nothing waits, nothing
 * becomes a terminal, and every descriptor is close-on-exec. Returns it or -1 with errno. */
int files_openat(int dir, const char *path, int flags, mode_t mode);

/* Opens a path as callers give it, in /workspace or in /tmp. */
int files_open_path(const struct files *files, const char *path, int flags, mode_t mode);

/* The directory that the path starts from, and the rest. Returns -1 with errno. */
int files_find_root(const struct files *files, const char **path);

/* Opens the directory that holds the last part of `path`, which is copied to `ret_name`. The path
 * must be neither "" nor "/tmp". */
int files_open_parent(const struct files *files, const char *path, int *ret_dir,
                      char ret_name[NAME_MAX + 1], struct error *err);

struct files_bill *files_bill_ref(struct files_bill *bill);
void files_bill_unref(struct files_bill *bill);

/* Says what the present errno means for `path`. Returns -1. */
int files_fail(struct error *err, const char *what, const char *path);

void files_fill(struct files_entry *entry, const struct stat *st);

/* The names in a directory, as getdents64(2) gives them; the caller brings the memory. */
struct files_names {
    int fd;
    char *data;
    size_t size, len, at;
};

/* The next one that is neither `.` nor `..`, valid until the next call; NULL: no more, or an error.
 */
const char *files_next_name(struct files_names *names);
