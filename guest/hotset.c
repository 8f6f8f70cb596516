#include "guest/hotset.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "guest/maps.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define PAGE MAPS_PAGE

#define RANGES_MAX 2048

struct range {
    uintptr_t start;
    size_t len;
};

struct ranges {
    size_t count;
    struct range items[RANGES_MAX];
};

struct set {
    struct ranges written, read;
};

static struct set sets[HOTSET_COUNT];

/* --- learning, in a child --- */

/* Takes a page in, behind all others. Only ranges from `first` on may grow: those before belong to
 * another mapping, and what lies between two mappings must not be touched. */
static void add(struct ranges *ranges, size_t first, uintptr_t page)
{
    struct range *last = ranges->count > first ? &ranges->items[ranges->count - 1] : NULL;

    if (last && page == last->start + last->len)
        last->len += PAGE;
    else if (ranges->count < RANGES_MAX)
        ranges->items[ranges->count++] = (struct range){page, PAGE};
}

/* A page of this process's own that nobody else has was written here. One of a file is there
 * because it, or a near neighbour, was read. */
static void scan_mapping(int pagemap, const struct mapping *m, struct set *set)
{
    size_t first_written = set->written.count, first_read = set->read.count;
    uint64_t info[512];

    for (uintptr_t at = m->start; at < m->end;) {
        size_t want = (m->end - at) / PAGE;
        ssize_t n;

        want = want < ARRAY_SIZE(info) ? want : ARRAY_SIZE(info);
        n = pread(pagemap, info, want * sizeof(info[0]), (off_t)(at / PAGE * sizeof(info[0])));
        if (n <= 0)
            return;
        for (size_t i = 0; i < (size_t)n / sizeof(info[0]); i++, at += PAGE) {
            if (!(info[i] & PAGE_PRESENT))
                continue;
            if (info[i] & PAGE_OF_FILE)
                add(&set->read, first_read, at);
            else if ((info[i] & PAGE_EXCLUSIVE) && (m->prot & PROT_WRITE))
                add(&set->written, first_written, at);
        }
    }
}

/* Address space that is only reserved, as the shadow of a memory checker: looking at every page of
 * it would take for ever. */
#define SCANNED_MAX (UINT64_C(16) << 30)

/* Only mappings that were there before the work are there in every child. The stack of this moment
 * is deeper than theirs, and [vdso] and its kin are the kernel's. */
static void scan(char *before, struct set *set)
{
    cleanup_close int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    struct mapping m;

    while (pagemap >= 0 && maps_next(&before, &m))
        if (m.is_private && (m.prot & PROT_READ) && (m.name[0] != '[' || m.is_anonymous) &&
            m.end - m.start <= SCANNED_MAX)
            scan_mapping(pagemap, &m, set);
}

void hotset_learn(enum hotset_kind kind, void (*work)(void))
{
    struct set *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status;
    pid_t pid;

    if (shared == MAP_FAILED)
        return;
    pid = fork();
    if (pid == 0) {
        char *before;

        if (maps_read(&before, NULL) < 0)
            _exit(1);
        work();
        scan(before, shared);
        _exit(0);
    }
    if (pid > 0 && waitpid(pid, &status, 0) == pid && status == 0)
        sets[kind] = *shared;
    (void)munmap(shared, sizeof(*shared));
}

/* --- giving --- */

static void populate(const struct ranges *ranges, int advice)
{
    for (size_t i = 0; i < ranges->count; i++)
        if (madvise((void *)ranges->items[i].start, ranges->items[i].len, advice) < 0)
            return; /* an older kernel; or a range that is no more, and then neither is the use of
                       the rest */
}

void hotset_populate(enum hotset_kind kind)
{
    populate(&sets[kind].written, MADV_POPULATE_WRITE);
}

void hotset_look_up(enum hotset_kind kind)
{
    populate(&sets[kind].read, MADV_POPULATE_READ);
}
