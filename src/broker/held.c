/* Files that stay open for writing from one run to the next.
 *
 * Writes to an open descriptor, or to a mapping, do not come by here. So a file that a run leaves
 * open is saved when that run ends: what is written to it later belongs to the next run, and comes
 * back with an undo of that one. The same holds for files that a copy of a session opens again
 * before its first run.
 *
 * Whether somebody has a file open for writing, Linux tells who wants a read lease on it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/limits.h"
#include "broker/calls.h"
#include "undo/copy.h"
#include "undo/entry.h"

/* Files that are remembered, and what is kept in memory of one and of all. Of a larger one it is
 * noted that it may have changed; an undo then reports it. */
#define HELD_MAX        4096
#define HELD_FILE_BYTES (8 * MIB)
#define HELD_BYTES      (64 * MIB)

struct held {
    unsigned grant;
    char *path;
    struct stat st;
    int content; /* memory, or -1 */
};

static struct held held[HELD_MAX];
static size_t n_held;
static uint64_t held_bytes;
static bool has_more; /* than HELD_MAX */

static int open_again(int fd)
{
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/* If that cannot be determined, for lack of rights or because of the file system, it may be. */
static bool is_open_for_writing(int fd)
{
    if (fd < 0 || fcntl(fd, F_SETLEASE, F_RDLCK) < 0)
        return true;
    (void)fcntl(fd, F_SETLEASE, F_UNLCK);
    return false;
}

/* -1: it is too large, or is being written while we read. */
static int take_content(int fd, const struct stat *st)
{
    cleanup_close int memory = -1;
    cleanup_error struct error err = {0};
    uint64_t room = HELD_BYTES - held_bytes, stored = 0;
    struct stat now;

    if (fd < 0 || (uint64_t)st->st_blocks * 512 > HELD_FILE_BYTES)
        return -1;
    memory = (int)syscall(SYS_memfd_create, "belljar-held", MFD_CLOEXEC);
    if (memory < 0 ||
        copy_data(fd, memory, room < HELD_FILE_BYTES ? room : HELD_FILE_BYTES, &stored, &err) < 0 ||
        fstat(fd, &now) < 0 || !file_is_unchanged(st, &now))
        return -1;
    held_bytes += stored;
    return take_fd(memory);
}

static void add(unsigned grant, const char *path, int fd, const struct stat *st)
{
    struct held *h = &held[n_held];

    if (n_held == HELD_MAX) {
        has_more = true;
        return;
    }
    *h = (struct held){.grant = grant, .path = strdup(path), .st = *st};
    if (!h->path) {
        has_more = true;
        return;
    }
    h->content = take_content(fd, st);
    n_held++;
}

void held_forget(void)
{
    while (n_held) {
        struct held *h = &held[--n_held];

        free(h->path);
        close_fd(&h->content);
    }
    held_bytes = 0;
    has_more = false;
}

void held_note(void *arg, unsigned grant, const char *path, int fd, const struct stat *st)
{
    cleanup_close int reading = open_again(fd);

    (void)arg;
    if (is_open_for_writing(reading))
        add(grant, path, reading, st);
}

void held_note_opened(const struct place *p, int fd)
{
    cleanup_close int reading = open_again(fd);

    add(p->index, p->path, reading, &p->st);
}

/* The file is where it was; nobody but the user can have moved it since. */
static bool find(struct broker *b, const struct held *h, struct place *p)
{
    return resolve_known(b, h->grant, h->path, p) == 0 && p->exists &&
           p->st.st_dev == h->st.st_dev && p->st.st_ino == h->st.st_ino;
}

static void keep(struct broker *b, const struct held *h)
{
    cleanup(place_done) struct place p = {.parent = -1};
    cleanup_error struct error err = {0};

    if (!find(b, h, &p))
        return;
    if (keep_open_journal(b, &err) < 0 ||
        journal_held(b->journal, h->grant, h->path, p.parent, p.name, &h->st, h->content, &err) < 0)
        (void)keep_refused(b, &p, &err);
}

void held_keep(struct broker *b)
{
    for (size_t i = 0; b->is_keeping && i < n_held; i++)
        keep(b, &held[i]);
    if (b->is_keeping && has_more)
        judge_note(b, "record what is written",
                   "to more than 4096 files that were left open for writing");
    held_forget();
}
