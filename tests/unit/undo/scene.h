/* A granted directory, a run's directory, and a program that changes the one while the journal in
 * the other knows of it, as the broker does it. The test's working directory is above both:
 * "grant", "run". */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "undo/journal.h"
#include "unit.h"

struct scene {
    struct journal *journal;
    int grant, run; /* descriptors */
    int patience;   /* after so many moments the program is killed; 0: never */
    jmp_buf killed;
};

extern struct scene scene;

/* For setup and teardown of a test. */
int scene_enter(void **state);
int scene_leave(void **state);

/* Begins a run of that name, in a new directory of that name. */
void scene_begin(const char *run, const struct journal_limits *limits);
void scene_seal(void);  /* ends it */
void scene_crash(void); /* ends it without a seal */

/* --- what a program does; a path below "grant" --- */

void do_write(const char *path, const char *text); /* makes it, or truncates and writes */
void do_append(const char *path, const char *text);
void do_mkdir(const char *path);
void do_symlink(const char *target, const char *path);
void do_link(const char *from, const char *to);
void do_fifo(const char *path);
void do_remove(const char *path); /* a file or an empty directory */
void do_rename(const char *from, const char *to);
void do_swap(const char *one, const char *other);
void do_chmod(const char *path, mode_t mode);
void do_xattr(const char *path, const char *name, const char *value); /* NULL: removed */

/* --- what somebody else does --- */

void put(const char *path, const char *text); /* below "grant", without the journal */
char *get(const char *path);                  /* the content; NULL: none. Valid until the next */
bool exists(const char *path);

/* Everything below "grant" as text: type, mode, path, content or target, mtime, user.* attributes.
 * The caller frees it. Inode numbers are left out, times of directories, too. */
char *snapshot(void);
