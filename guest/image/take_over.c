/* Becoming a copy, second half: replaces all memory of the process but the stub, on whose stack it
 * runs. There is nobody to fall back to: no C library (its data is being replaced), no stack
 * protector (nor is there its secret for a while), no variable outside of the stub, whose address
 * is handed from function to function. A failure ends the process.
 *
 * Each address is replaced by one call; between unmapping and mapping something else could land
 * there. */
#include <fcntl.h>
#include <linux/rseq.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "guest/image/internal.h"

#define EXIT_FAILED 125
#define RSEQ_LENGTH 32 /* what the C library registers */

#define IOV_COUNT 512

static inline long call6(long nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
                         uint64_t f)
{
    register uint64_t r10 __asm__("r10") = d;
    register uint64_t r8 __asm__("r8") = e;
    register uint64_t r9 __asm__("r9") = f;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

#define CALL4(nr, a, b, c, d)                                                                      \
    call6(nr, (uint64_t)(a), (uint64_t)(b), (uint64_t)(c), (uint64_t)(d), 0, 0)
#define CALL3(nr, a, b, c) CALL4(nr, a, b, c, 0)
#define CALL1(nr, a)       CALL4(nr, a, 0, 0, 0)

static void __attribute__((noreturn)) give_up(void)
{
    for (;;)
        (void)CALL1(SYS_exit_group, EXIT_FAILED);
}

static void must(long result)
{
    if (result < 0)
        give_up();
}

static void map_fixed(const struct image_map *m, uint64_t start, uint64_t len, int flags, int fd,
                      uint64_t offset)
{
    must(call6(SYS_mmap, start, len, m->prot, (uint64_t)(flags | MAP_FIXED), (uint64_t)fd, offset));
}

/* --- what is where --- */

static bool is_same_backing(const struct image_map *own, const struct image_map *m)
{
    if (own->kind != m->kind || own->is_shared != m->is_shared)
        return false;
    if (m->kind == IMAGE_MAP_ANON || m->kind == IMAGE_MAP_STACK)
        return true;
    return is_same_file(&own->file, &m->file) && own->offset - own->start == m->offset - m->start;
}

const struct image_map *image_covering(const struct image_stub *s, const struct image_map *map)
{
    const struct image_map *own = s->maps;
    uint32_t from = 0, to = s->n_maps;

    while (from < to) { /* the first that begins behind it */
        uint32_t middle = from + (to - from) / 2;

        if (own[middle].start <= map->start)
            from = middle + 1;
        else
            to = middle;
    }
    if (from == 0 || own[from - 1].end < map->end || !is_same_backing(&own[from - 1], map))
        return NULL;
    return &own[from - 1];
}

int image_fd_of(const struct image_stub *s, const struct image_file *file)
{
    const struct image_head *head = &s->index.head;

    for (uint32_t i = 0; i < head->n_images; i++)
        if (is_same_file(&head->images[i], file))
            return s->image_fds[i];
    return -1;
}

/* --- mappings --- */

/* Takes away what the source does not have. The stack stays: it cannot be made again. */
static void unmap_surplus(const struct image_stub *s)
{
    const struct image_index *index = &s->index;
    const struct image_map *m = index->maps, *end = m + index->head.n_maps;

    for (uint32_t i = 0; i < s->n_maps; i++) {
        const struct image_map *own = &s->maps[i];
        uint64_t at = own->start;

        if (own->kind == IMAGE_MAP_KERNEL || own->kind == IMAGE_MAP_STACK)
            continue;
        while (m < end && m->end <= at)
            m++;
        for (const struct image_map *next = m; at < own->end; next++) {
            uint64_t stop = next < end && next->start < own->end ? next->start : own->end;

            if (stop > at)
                must(CALL3(SYS_munmap, at, stop - at, 0));
            at = stop == own->end ? stop : next->end;
        }
    }
}

static void map_file(const struct image_stub *s, const struct image_map *m)
{
    const char *name = s->index.text + m->name;
    long fd = CALL4(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC, 0);

    must(fd);
    map_fixed(m, m->start, m->end - m->start, m->is_shared ? MAP_SHARED : MAP_PRIVATE, (int)fd,
              m->offset);
    (void)CALL1(SYS_close, fd);
}

/* Grows by being touched. */
static void settle_stack(const struct image_stub *s, const struct image_map *m)
{
    for (uint32_t i = 0; i < s->n_maps; i++) {
        const struct image_map *own = &s->maps[i];
        uint64_t start;

        if (own->kind != IMAGE_MAP_STACK)
            continue;
        if (own->end != m->end)
            give_up();
        start = own->start < m->start ? own->start : m->start;
        for (uint64_t at = own->start; at > start; at -= IMAGE_PAGE)
            (void)*(volatile char *)(uintptr_t)(at - IMAGE_PAGE);
        if (own->prot != m->prot)
            must(CALL3(SYS_mprotect, m->start, m->end - m->start, m->prot));
        must(CALL3(SYS_madvise, start, m->end - start, MADV_DONTNEED));
    }
}

/* Back to what it is without changes: zeros, or the file's bytes. */
static void settle(const struct image_stub *s, const struct image_map *m)
{
    const struct image_map *own = image_covering(s, m);
    uint64_t len = m->end - m->start;

    if (m->kind == IMAGE_MAP_STACK) {
        settle_stack(s, m);
    } else if (own) {
        if (own->prot != m->prot)
            must(CALL3(SYS_mprotect, m->start, len, m->prot));
        if (!m->is_shared && ((own->prot | m->prot) & PROT_WRITE))
            must(CALL3(SYS_madvise, m->start, len, MADV_DONTNEED));
    } else if (m->kind == IMAGE_MAP_ANON) {
        map_fixed(m, m->start, len, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    } else if (m->kind == IMAGE_MAP_IMAGE) {
        map_fixed(m, m->start, len, MAP_PRIVATE, image_fd_of(s, &m->file), m->offset);
    } else {
        map_file(s, m);
    }
}

/* --- pages --- */

static bool is_copied(const struct image_stub *s, const struct image_run *run)
{
    const struct image_map *m = &s->index.maps[run->map];

    if (m->kind == IMAGE_MAP_STACK)
        return true;
    return run->pages <= IMAGE_COPY_MAX && (m->prot & PROT_WRITE);
}

/* Small runs follow each other in the file: one call fills many. */
static uint32_t copy_runs(const struct image_stub *s, uint32_t first, uint32_t end)
{
    const struct image_run *runs = s->index.runs;
    struct iovec iov[IOV_COUNT];
    uint64_t at = runs[first].offset, done = 0, want = 0;
    uint32_t n = 0;

    for (; first + n < end && n < IOV_COUNT; n++) {
        const struct image_run *run = &runs[first + n];

        if (!is_copied(s, run) || run->offset != at + want)
            break;
        iov[n].iov_base = (void *)(uintptr_t)run->start;
        iov[n].iov_len = (size_t)run->pages * IMAGE_PAGE;
        want += iov[n].iov_len;
    }
    for (uint32_t i = 0; done < want;) {
        long got = CALL4(SYS_preadv, s->newest, &iov[i], n - i, at + done);

        if (got <= 0)
            give_up();
        done += (uint64_t)got;
        while (i < n && (uint64_t)got >= iov[i].iov_len)
            got -= (long)iov[i++].iov_len;
        if (i < n) {
            iov[i].iov_base = (char *)iov[i].iov_base + got;
            iov[i].iov_len -= (size_t)got;
        }
    }
    return first + n;
}

static void fill(const struct image_stub *s)
{
    const struct image_index *index = &s->index;

    for (uint32_t i = 0; i < index->head.n_runs;) {
        const struct image_run *run = &index->runs[i];

        if (is_copied(s, run)) {
            i = copy_runs(s, i, index->head.n_runs);
            continue;
        }
        map_fixed(&index->maps[run->map], run->start, (uint64_t)run->pages * IMAGE_PAGE,
                  MAP_PRIVATE, s->newest, run->offset);
        i++;
    }
}

/* --- the rest --- */

/* Linux writes to this piece of the thread's memory whenever it moves the thread. */
static void switch_rseq(bool on)
{
    char *thread, *area;

    if (__rseq_size == 0)
        return;
    __asm__("mov %%fs:0, %0" : "=r"(thread));
    area = thread + __rseq_offset;
    must(CALL4(SYS_rseq, area, RSEQ_LENGTH, on ? 0 : RSEQ_FLAG_UNREGISTER, RSEQ_SIG));
}

static void set_thread(const struct image_stub *s)
{
    uint64_t address = s->tid_address;

    *(volatile int *)(uintptr_t)address = (int)CALL1(SYS_set_tid_address, address);
}

static void set_signals(const struct image_head *head)
{
    stack_t alt = {.ss_sp = (void *)(uintptr_t)head->alt_stack,
                   .ss_size = head->alt_size,
                   .ss_flags = (int)head->alt_flags};

    for (int sig = 1; sig <= IMAGE_SIGNALS; sig++)
        if (sig != SIGKILL && sig != SIGSTOP)
            (void)CALL4(SYS_rt_sigaction, sig, &head->signals[sig - 1], NULL, sizeof(uint64_t));
    (void)CALL3(SYS_sigaltstack, &alt, NULL, 0);
    for (int i = 0; i < 3; i++)
        (void)CALL3(SYS_setitimer, i, &head->timers[i], NULL);
    (void)CALL1(SYS_umask, head->umask);
    (void)CALL3(SYS_prctl, PR_SET_NAME, head->comm, 0);
}

static bool is_kept(const struct image_stub *s, int number)
{
    const struct image_index *index = &s->index;

    if (number == IMAGE_PAGEMAP_FD)
        return true;
    for (uint32_t i = 0; i < index->head.n_fds; i++)
        if (index->fds[i].number == (uint32_t)number)
            return true;
    for (uint32_t i = 0; i < s->n_own; i++)
        if (s->own[i].fd == number)
            return true;
    return false;
}

static void close_others(const struct image_stub *s)
{
    const struct image_index *index = &s->index;
    uint32_t highest = IMAGE_PAGEMAP_FD;

    for (uint32_t i = 0; i < s->n_own; i++)
        if ((uint32_t)s->own[i].fd > highest)
            highest = (uint32_t)s->own[i].fd;
    for (uint32_t i = 0; i < index->head.n_fds; i++)
        if (index->fds[i].number > highest)
            highest = index->fds[i].number;
    for (uint32_t at = 0, from = 0; at <= highest + 1; at++) {
        if (at <= highest && !is_kept(s, (int)at))
            continue;
        if (at > from)
            (void)CALL3(SYS_close_range, from, at - 1, 0);
        from = at + 1;
    }
    (void)CALL3(SYS_close_range, highest + 1, ~0U, 0);
}

void image_take_over(void *stub)
{
    const struct image_stub *s = stub;
    const struct image_head *head = &s->index.head;

    switch_rseq(false);
    unmap_surplus(s);
    if ((uint64_t)CALL1(SYS_brk, head->brk) != head->brk)
        give_up();
    for (uint32_t i = 0; i < head->n_maps; i++)
        settle(s, &s->index.maps[i]);
    fill(s);
    set_thread(s);
    switch_rseq(true);
    close_others(s);
    set_signals(head);
    must(CALL4(SYS_rt_sigprocmask, SIG_SETMASK, &head->mask, NULL, sizeof(head->mask)));
    image_context_load(&head->context);
}
