#include "zygote/rebase.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "guest/maps.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

#define PAGE       MAPS_PAGE
#define LARGE_PAGE ((size_t)2 << 20)

/* Untouched pages in the middle of touched ones, and at either end of anonymous memory, are taken
 * along up to this many, because each gap would cost one or two mappings in every child. Longer
 * ones stay anonymous: touching a hole of the file would allocate a page in it for good. */
#define GAP_MAX 64

/* Pages of larger ones stay shared with whoever else on the host uses them, but for those of which
 * at least half is used, as of the C library. */
#define LIBRARY_SMALL ((uintptr_t)512 << 10)
#define LIBRARY_MAX   ((uintptr_t)2 << 20)
#define LIBRARY_PARTS 8

/* From the thread's address: variables of threads lie below it, what the C library and Linux keep
 * about the thread, above. More than either has. */
#define THREAD_BELOW ((uintptr_t)64 << 10)
#define THREAD_ABOVE ((uintptr_t)16 << 10)

#define RUNS_MAX 16384 /* Linux allows a process 65,530 mappings */

#define MMAP_MAX_DEFAULT 65536 /* of the C library */

struct page_range {
    uintptr_t start;
    size_t len;
    int prot;
};

/* The notes of the code below, in a mapping of their own that is left alone: between the copy and
 * the switch nothing may change that is being switched, and so nothing here calls the allocator. */
struct notes {
    uint64_t page_info[512];
    size_t n_runs;
    struct page_range runs[RUNS_MAX];
};

static struct notes *notes;

/* The first run, for later. */
static struct page_range first_run;

static bool holds(const struct mapping *m, const void *address)
{
    return (uintptr_t)address >= m->start && (uintptr_t)address < m->end;
}

/* Left as they are: what is shared, what cannot be read, Linux's own, and the stack. */
static bool is_eligible(const struct mapping *m)
{
    if (!m->is_private || !(m->prot & PROT_READ))
        return false;
    return m->name[0] != '[' || m->is_anonymous;
}

static int add_run(uintptr_t start, uintptr_t end, int prot, struct error *err)
{
    if (notes->n_runs == RUNS_MAX)
        return error_set(err, E_TOO_LARGE, "memory is too scattered");
    notes->runs[notes->n_runs++] = (struct page_range){start, end - start, prot};
    return 0;
}

/* The run [start, end), or none when `end` is 0, up to the ends of its mapping where these are
 * near: neighbours then are one mapping with it. Memory of a file may be longer than the file, so
 * its end stays. */
static int add_last_run(const struct mapping *m, bool is_first, uintptr_t start, uintptr_t end,
                        struct error *err)
{
    static const uintptr_t near = (uintptr_t)GAP_MAX * PAGE;

    if (!end && (!m->is_anonymous || m->end - m->start > near))
        return 0;
    if (!end || (is_first && start - m->start <= near))
        start = m->start;
    if (!end || (m->is_anonymous && m->end - end <= near))
        end = m->end;
    return add_run(start, end, m->prot, err);
}

/* Pages that exist and are ours: present or swapped out, and not of a file. */
static int find_runs_within(int pagemap, const struct mapping *m, struct error *err)
{
    uintptr_t start = 0, end = 0;
    size_t before = notes->n_runs;

    for (uintptr_t at = m->start; at < m->end;) {
        size_t want = (m->end - at) / PAGE;
        ssize_t n;

        want = want < ARRAY_SIZE(notes->page_info) ? want : ARRAY_SIZE(notes->page_info);
        n = pread(pagemap, notes->page_info, want * sizeof(notes->page_info[0]),
                  (off_t)(at / PAGE * sizeof(notes->page_info[0])));
        if (n <= 0)
            return error_errno(err, "read /proc/self/pagemap");
        for (size_t i = 0; i < (size_t)n / sizeof(notes->page_info[0]); i++, at += PAGE) {
            uint64_t info = notes->page_info[i];

            if (!(info & (PAGE_PRESENT | PAGE_SWAPPED)) || (info & PAGE_OF_FILE))
                continue;
            if (end && at > end + (size_t)GAP_MAX * PAGE) {
                if (add_run(start, end, m->prot, err) < 0)
                    return -1;
                end = 0;
            }
            if (!end)
                start = at;
            end = at + PAGE;
        }
    }
    return add_last_run(m, notes->n_runs == before, start, end, err);
}

/* But for the thread's block, where Linux and the C library write at any time. It is a few
 * kilobytes, and memory that was mapped later lies beside it, in one mapping with it. */
static int find_runs(int pagemap, const struct mapping *m, struct error *err)
{
    uintptr_t thread = (uintptr_t)pthread_self() / PAGE * PAGE;
    struct mapping below = *m, above = *m;

    if (!holds(m, (const void *)pthread_self()))
        return find_runs_within(pagemap, m, err);
    below.end = thread - m->start > THREAD_BELOW ? thread - THREAD_BELOW : m->start;
    above.start = m->end - thread > THREAD_ABOVE ? thread + THREAD_ABOVE : m->end;
    if (below.start < below.end && find_runs_within(pagemap, &below, err) < 0)
        return -1;
    return above.start < above.end ? find_runs_within(pagemap, &above, err) : 0;
}

/* A library's tables, code, constants and what was written once when it was loaded: neighbours of
 * one file, none of them writable. */
struct library {
    struct mapping parts[LIBRARY_PARTS];
    size_t n_parts;
};

static bool belongs(const struct library *l, const struct mapping *m)
{
    const struct mapping *last = l->n_parts ? &l->parts[l->n_parts - 1] : NULL;

    if (m->name[0] != '/' || (m->prot & PROT_WRITE) || l->n_parts == LIBRARY_PARTS)
        return false;
    return !last || (last->end == m->start && strcmp(last->name, m->name) == 0);
}

/* --- code --- */

/* A part of a program or library that lies in one large page, of which at least this many small
 * ones have been used, and no more of them than fit into CODE_MAX. */
#define CODE_PAGES 64
#define CODE_MAX   ((size_t)64 << 20)

/* Pages of the stretch that are used. `*ret_own`, unless NULL: how many were changed. */
static size_t count_present(int pagemap, uintptr_t start, size_t n, size_t *ret_own)
{
    size_t used = 0, own = 0;
    ssize_t got = pread(pagemap, notes->page_info, n * sizeof(notes->page_info[0]),
                        (off_t)(start / PAGE * sizeof(notes->page_info[0])));

    for (size_t i = 0; got > 0 && i < (size_t)got / sizeof(notes->page_info[0]); i++) {
        uint64_t info = notes->page_info[i];

        used += (info & PAGE_PRESENT) != 0;
        own += (info & (PAGE_PRESENT | PAGE_SWAPPED)) && !(info & PAGE_OF_FILE);
    }
    if (ret_own)
        *ret_own = own;
    return used;
}

static bool is_used_code(int pagemap, uintptr_t start)
{
    size_t own;

    return count_present(pagemap, start, ARRAY_SIZE(notes->page_info), &own) >= CODE_PAGES &&
           own == 0;
}

static int add_code(int pagemap, const struct library *l, struct error *err)
{
    uintptr_t at = l->n_parts ? (l->parts[0].start + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE : 0;

    for (; l->n_parts && at + LARGE_PAGE <= l->parts[l->n_parts - 1].end; at += LARGE_PAGE)
        if ((notes->n_runs + 1) * LARGE_PAGE <= CODE_MAX && is_used_code(pagemap, at) &&
            add_run(at, at + LARGE_PAGE, PROT_READ | PROT_EXEC, err) < 0)
            return -1;
    return 0;
}

/* Each child takes its code in by faults of sixteen pages and gives it back page by page, a quarter
 * of a small program's time. With large pages that is one fault for 512. They need the same place
 * within a large page in the file and in memory, so they are the first in the file. */
static int collect_code(int pagemap, char *text, struct error *err)
{
    struct library library = {0};
    struct mapping m;

    while (maps_next(&text, &m)) {
        if (!belongs(&library, &m) || !m.is_private) {
            if (add_code(pagemap, &library, err) < 0)
                return -1;
            library.n_parts = 0;
        }
        if (belongs(&library, &m) && m.is_private)
            library.parts[library.n_parts++] = m;
    }
    return add_code(pagemap, &library, err);
}

/* Each mapping is copied by every fork. A small library goes into the file whole, as one that may
 * be read and executed: most have four, and nothing else is shared by leaving them where they are.
 * A program gains nothing by it: it can map memory to execute from for the asking. */
static bool is_taken_whole(int pagemap, uintptr_t start, uintptr_t end)
{
    size_t used = 0;

    if (end - start > LIBRARY_MAX)
        return false;
    for (uintptr_t at = start; at < end; at += ARRAY_SIZE(notes->page_info) * PAGE) {
        size_t n = (end - at) / PAGE;

        n = n < ARRAY_SIZE(notes->page_info) ? n : ARRAY_SIZE(notes->page_info);
        used += count_present(pagemap, at, n, NULL);
    }
    return end - start <= LIBRARY_SMALL || used >= (end - start) / PAGE / 2;
}

static int add_library(int pagemap, struct library *l, struct error *err)
{
    uintptr_t start = l->parts[0].start, end = l->n_parts ? l->parts[l->n_parts - 1].end : 0;
    size_t n = l->n_parts;

    l->n_parts = 0;
    if (n > 1 && is_taken_whole(pagemap, start, end))
        return add_run(start, end, PROT_READ | PROT_EXEC, err);
    for (size_t i = 0; i < n; i++)
        if (find_runs(pagemap, &l->parts[i], err) < 0)
            return -1;
    return 0;
}

static int collect(struct error *err)
{
    cleanup_close int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    struct library library = {0};
    struct mapping m;
    char *text;

    if (pagemap < 0)
        return error_errno(err, "open /proc/self/pagemap");
    notes->n_runs = 0;
    if (maps_read(&text, err) < 0 || collect_code(pagemap, text, err) < 0 ||
        maps_read(&text, err) < 0)
        return -1;
    while (maps_next(&text, &m)) {
        if (!is_eligible(&m))
            continue;
        if (!belongs(&library, &m) && add_library(pagemap, &library, err) < 0)
            return -1;
        if (belongs(&library, &m))
            library.parts[library.n_parts++] = m;
        else if (find_runs(pagemap, &m, err) < 0)
            return -1;
    }
    return add_library(pagemap, &library, err);
}

/* Bytes of the run that were copied; fewer than all before a page that cannot be read. */
static ssize_t copy_run(int file, const struct page_range *run, off_t at, struct error *err)
{
    size_t done = 0;

    while (done < run->len) {
        ssize_t n =
            pwrite(file, (const char *)run->start + done, run->len - done, at + (off_t)done);

        if (n < 0 && errno == EFAULT)
            return (ssize_t)(done / PAGE * PAGE);
        if (n <= 0)
            return error_errno(err, "write the memory file");
        done += (size_t)n;
    }
    return (ssize_t)done;
}

/* The page at `done` of a run stays as it is, and what is behind it is a run of its own. */
static int leave_page(size_t index, size_t done, struct error *err)
{
    struct page_range *run = &notes->runs[index];
    struct page_range rest = {run->start + done + PAGE, run->len - done - PAGE, run->prot};
    size_t after = notes->n_runs - index - 1, here = done ? 1 : 0, behind = rest.len ? 1 : 0;

    if (notes->n_runs + here + behind - 1 > RUNS_MAX)
        return error_set(err, E_TOO_LARGE, "memory is too scattered");
    run->len = done;
    memmove(run + here + behind, run + 1, after * sizeof(*run));
    if (behind)
        run[here] = rest;
    notes->n_runs += here + behind - 1;
    return 0;
}

/* A page in the middle of readable memory may be a guard (Linux 6.13), such as the C library (2.42)
 * has below the stacks of threads, also of those that have ended. */
static int copy_out(int file, struct error *err)
{
    off_t at = 0;

    for (size_t i = 0; i < notes->n_runs;) {
        ssize_t done = copy_run(file, &notes->runs[i], at, err);

        if (done < 0)
            return -1;
        at += done;
        if ((size_t)done < notes->runs[i].len && leave_page(i, (size_t)done, err) < 0)
            return -1;
        if (done > 0)
            i++;
    }
    return 0;
}

/* With large pages in the file it is cheap to show many small ones of it, sixteen at a fault, and
 * to take them away at an end. Linux puts them together where it can (6.1); else nothing is lost.
 */
static void enlarge_pages(int file)
{
    size_t len = 0;
    char *space, *aligned;

    for (size_t i = 0; i < notes->n_runs; i++)
        len += notes->runs[i].len;
    len = (len + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
    space = mmap(NULL, len + LARGE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (space == MAP_FAILED)
        return;
    aligned = space + (LARGE_PAGE - (uintptr_t)space % LARGE_PAGE) % LARGE_PAGE;
    if (ftruncate(file, (off_t)len) == 0 &&
        mmap(aligned, len, PROT_READ, MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED)
        (void)madvise(aligned, len, MADV_COLLAPSE);
    (void)munmap(space, len + LARGE_PAGE);
}

/* Each address gets the same bytes it had, by one call that replaces the mapping. There is no way
 * back from a failure in the middle, and none is needed: what was not switched is as it was. */
static int switch_over(int file, struct error *err)
{
    off_t at = 0;

    for (size_t i = 0; i < notes->n_runs; i++) {
        if (mmap((void *)notes->runs[i].start, notes->runs[i].len, notes->runs[i].prot,
                 MAP_PRIVATE | MAP_FIXED, file, at) == MAP_FAILED &&
            !(notes->runs[i].prot &
              PROT_EXEC)) /* not allowed everywhere, and only a matter of speed */
            return error_errno(err, "map the memory file");
        at += (off_t)notes->runs[i].len;
    }
    return 0;
}

/* Of a large library, too, the tables and the constants join the code between them when all may be
 * executed. */
static void join_code(char *text)
{
    struct mapping before = {0}, m;

    for (; maps_next(&text, &m); before = m) {
        bool is_joined = before.name && before.end == m.start && m.name[0] == '/' &&
                         strcmp(before.name, m.name) == 0 && before.is_private && m.is_private &&
                         (before.prot | m.prot) == (PROT_READ | PROT_EXEC);

        if (!is_joined)
            continue;
        if (!(before.prot & PROT_EXEC))
            (void)mprotect((void *)before.start, before.end - before.start, m.prot);
        else if (!(m.prot & PROT_EXEC) &&
                 mprotect((void *)m.start, m.end - m.start, before.prot) == 0)
            m.prot = before.prot;
    }
}

void rebase_prepare(void)
{
    (void)mallopt(M_MMAP_MAX, 0);
}

/* Shared, so that it is no neighbour's and no copy of it stays behind. */
static int open_notes(struct error *err)
{
    notes = mmap(NULL, sizeof(*notes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return notes == MAP_FAILED ? error_errno(err, "mmap") : 0;
}

static void close_notes(void)
{
    (void)munmap(notes, sizeof(*notes));
    notes = NULL;
}

static int move_memory(int file, struct error *err)
{
    if (collect(err) < 0 || copy_out(file, err) < 0)
        return -1;
    enlarge_pages(file);
    if (switch_over(file, err) < 0)
        return -1;
    first_run = notes->runs[0];
    return 0;
}

int rebase_memory(struct error *err)
{
#if defined(__SANITIZE_ADDRESS__)
    /* The checker's shadow is private memory too, terabytes of it, and it writes there between any
     * two of our steps. */
    (void)open_notes;
    (void)close_notes;
    (void)move_memory;
    (void)join_code;
    (void)err;
    return 0;
#endif
    cleanup_close int file = memfd_create("belljar-base", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    char *text;
    int r;

    if (file < 0)
        return error_errno(err, "memfd_create");
    if (open_notes(err) < 0)
        return -1;
    r = move_memory(file, err);
    close_notes();
    if (maps_read(&text, NULL) == 0)
        join_code(text);
    maps_done();
    if (r < 0)
        return error_wrap(err, "rebase the interpreter's memory");
    if (fcntl(file, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
        return error_errno(err, "seal the memory file");
    (void)mallopt(M_MMAP_MAX, MMAP_MAX_DEFAULT);
    return 0;
}

bool rebase_first(uintptr_t *ret_start)
{
    *ret_start = first_run.start;
    return first_run.len > 0;
}
