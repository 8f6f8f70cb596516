/* Many files in one call: read, looked at and thrown away again, by as many threads as there are
 * CPUs, with nothing of Python in it.
 *
 * A file costs an open, a look at its kind and size, a read into the thread's own buffer, and a
 * search for the bytes that an answer would have to contain; only then it is taken apart. What is
 * kept of it is what was asked for. A file that cannot be read, is too large, binary or no Python
 * is told with the reason and stops nothing.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "library/code/outline.h"

#define SCAN_FILE_MAX    (8u << 20)
#define SCAN_THREADS_MAX 16

enum scan_what {
    SCAN_FUNCTIONS,
    SCAN_CLASSES,
    SCAN_IMPORTS,
    SCAN_CALLS,
    SCAN_FIGURES, /* how many of what, and the imports */
    SCAN_UNUSED,  /* imports that nothing uses */
    SCAN_BYTES,   /* does it contain the pattern? Of every kind of file */
};

struct scan_query {
    enum scan_what what;
    const char *pattern; /* a part of a definition's name; what is called; NULL: everything */
    size_t pattern_len;
    bool is_judged_later; /* each name that is found is maybe one */
    bool is_counting;     /* keep nothing but numbers, where they are certain */
    size_t limit;         /* enough is enough; SIZE_MAX: never */
};

enum scan_state {
    SCAN_UNSEEN, /* there was enough without it */
    SCAN_DONE,
    SCAN_ODD, /* not UTF-8: somebody has to decode it, see scan_text() */
    SCAN_SKIPPED,
};

struct scan_unused {
    struct piece module, name, binding; /* in the list's text; name.len 0: `import m` */
    uint32_t level, line;
    bool is_global;
};

struct scan_unused_list {
    size_t count;
    char *text;
    struct scan_unused items[];
};

struct scan_file {
    const char *path;
    enum scan_state state;
    int errnum;      /* of SCAN_SKIPPED: a system call failed, or 0 and */
    const char *why; /* words that live for ever; with a line, unless that is 0 */
    uint32_t line;
    size_t count;          /* entries that are certain */
    struct outline *found; /* what was kept, or NULL: nothing */
    struct scan_unused_list *unused;
};

struct scan_worker; /* what a thread has of its own */

struct scan {
    struct scan_query query;
    struct scan_file *files; /* zeroed but for their paths */
    size_t n_files;
    unsigned n_threads;
    /* Called by the calling thread between files, not too often. False: stop. */
    bool (*on_pause)(void *arg, size_t done);
    void *arg;

    atomic_size_t next, found;
    atomic_bool is_stopped, is_out_of_memory;
};

/* CPUs this process may use, at most SCAN_THREADS_MAX. */
unsigned scan_cpus(void);

/* Files are taken in order: those that were not because there was enough are the last ones. Threads
 * that cannot be started are done without. */
void scan_run(struct scan *scan);
void scan_done(struct scan *scan);

struct scan_worker *scan_worker_new(void);
void scan_worker_free(struct scan_worker *worker);

/* One text, decoded by the caller. False: out of memory. */
bool scan_text(const struct scan_query *query, struct scan_worker *worker, struct scan_file *file,
               const char *text, size_t len);

/* Is this name one of those asked for? For names of ASCII. */
bool scan_is_match(const struct scan_query *query, const char *name, size_t len);

/* ---- scan_walk.c ---- */

struct scan_list {
    char **paths;
    size_t count, size;
};

/* Regular files below `root` whose name matches a pattern of fnmatch(3), sorted by their paths,
 * which begin with `prefix`. Names that begin with a dot are left out, unless the pattern begins
 * with one; so are backups and files that are being written. Links to files count, links to
 * directories are not followed. A directory that cannot be read has no files. -1 and errno: out of
 * memory, or the root cannot be read. */
int scan_walk(struct scan_list *list, const char *root, const char *prefix, const char *pattern);
void scan_list_done(struct scan_list *list);
