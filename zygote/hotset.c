#include "zygote/hotset.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "zygote/rebase.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define RANGES_MAX 4096

/* A call costs about as much as copying a few pages, so near neighbours are taken together. */
#define GAP_MAX 2

struct range {
    uintptr_t start;
    size_t len;
};

struct set {
    size_t count;
    struct range ranges[RANGES_MAX];
};

static struct set sets[HOTSET_COUNT];

/* Takes a page in, behind all others of the set. Only ranges from `first` on may grow: those before
 * belong to another run of memory, and what lies between two runs must not be written. */
static void add(struct set *set, size_t first, uintptr_t page)
{
    struct range *last = set->count > first ? &set->ranges[set->count - 1] : NULL;

    if (last && page <= last->start + last->len + (size_t)GAP_MAX * REBASE_PAGE)
        last->len = page + REBASE_PAGE - last->start;
    else if (set->count < RANGES_MAX)
        set->ranges[set->count++] = (struct range){page, REBASE_PAGE};
}

/* In the child: which pages of the base are its own by now. */
static void scan(struct set *set)
{
    cleanup_close int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    uintptr_t start;
    size_t len;

    for (size_t i = 0; pagemap >= 0 && rebase_run(i, &start, &len); i++) {
        size_t first = set->count;

        for (uintptr_t at = start; at < start + len; at += REBASE_PAGE)
            if (rebase_is_private(pagemap, at))
                add(set, first, at);
    }
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
        work();
        scan(shared);
        _exit(0);
    }
    if (pid > 0 && waitpid(pid, &status, 0) == pid && status == 0)
        sets[kind] = *shared;
    (void)munmap(shared, sizeof(*shared));
}

void hotset_populate(enum hotset_kind kind)
{
    const struct set *set = &sets[kind];

    for (size_t i = 0; i < set->count; i++)
        if (madvise((void *)set->ranges[i].start, set->ranges[i].len, MADV_POPULATE_WRITE) < 0)
            return; /* an older kernel; or a range that is no more, and then neither is the use of
                       the rest */
}
