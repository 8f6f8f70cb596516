/* Writing an image. Between the moment the registers are saved and the last page written nothing
 * may change that is being written: no allocation, no variable outside of the stack and the stub.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/span.h"
#include "guest/image/internal.h"
#include "wire/archive.h"
#include "wire/put.h"

/* Pages nobody has touched between touched ones, up to this many, become a hole of the file,
 * because a gap costs a mapping in every copy. Longer gaps stay as they are: touching a hole
 * allocates a page in the file that all share. */
#define GAP_ANON 16

/* In a mapping of a file the pages between are there; they are written along. */
#define GAP_FILE 4

struct writer {
    const struct image_request *request;
    struct image_refusal why;
    uint64_t at; /* the next free place in the file */
};

/* --- what is not memory --- */

static void save_signals(struct image_head *head)
{
    for (int sig = 1; sig <= IMAGE_SIGNALS; sig++)
        (void)syscall(SYS_rt_sigaction, sig, NULL, &head->signals[sig - 1], sizeof(uint64_t));
    (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, NULL, &head->mask, sizeof(uint64_t));
}

static void save_state(void)
{
    struct image_head *head = &image_stub->index.head;
    mode_t mask = umask(077);
    stack_t alt = {0};

    (void)umask(mask);
    memcpy(head->magic, IMAGE_MAGIC, sizeof(head->magic));
    memcpy(head->zygote, image_stub->zygote, sizeof(head->zygote));
    head->umask = mask;
    head->brk = (uint64_t)syscall(SYS_brk, 0);
    save_signals(head);
    (void)sigaltstack(NULL, &alt);
    head->alt_stack = (uint64_t)(uintptr_t)alt.ss_sp;
    head->alt_size = alt.ss_size;
    head->alt_flags = (uint32_t)alt.ss_flags;
    for (int i = 0; i < 3; i++)
        (void)getitimer(i, &head->timers[i]);
    (void)prctl(PR_GET_NAME, head->comm);
}

/* --- pages --- */

static int fail(struct writer *w, int r, const char *what)
{
    if (r == -EPERM || r == -EFBIG || r == -ENOSPC)
        return image_refuse(&w->why, "the image is larger than its limit");
    return image_refuse(&w->why, "%s: %s", what, strerror(-r));
}

static int put_range(const struct writer *w, uint64_t start, uint64_t end, uint64_t at)
{
    return put_bytes(w->request->memory, (const void *)(uintptr_t)start, end - start, at);
}

static int add_run(struct writer *w, uint32_t map, uint64_t start, uint64_t end)
{
    struct image_index *index = &image_stub->index;

    if (index->head.n_runs == IMAGE_RUNS_MAX)
        return image_refuse(&w->why, "memory is too scattered");
    index->runs[index->head.n_runs++] = (struct image_run){
        .start = start,
        .offset = w->at,
        .pages = (uint32_t)((end - start) / IMAGE_PAGE),
        .map = map,
    };
    return 0;
}

/* Regions first..last become one run. Between those of anonymous memory the file keeps its hole. */
static int write_run(struct writer *w, uint32_t map, const struct image_region *first,
                     const struct image_region *last)
{
    const struct image_map *m = &image_stub->index.maps[map];
    bool has_holes = m->kind == IMAGE_MAP_ANON || m->kind == IMAGE_MAP_STACK;
    uint64_t start = first->start > m->start ? first->start : m->start;
    uint64_t end = last->end < m->end ? last->end : m->end;
    int r = 0;

    if (add_run(w, map, start, end) < 0)
        return -1;
    if (!has_holes)
        r = put_range(w, start, end, w->at);
    for (; has_holes && first <= last && r == 0; first++) {
        uint64_t from = first->start > start ? first->start : start;
        uint64_t to = first->end < end ? first->end : end;

        r = put_range(w, from, to, w->at + (from - start));
    }
    w->at += end - start;
    return r < 0 ? fail(w, r, "write the image") : 0;
}

/* Takes the regions of one mapping off the list. */
static int write_map(struct writer *w, uint32_t map, const struct image_region **next,
                     const struct image_region *end)
{
    const struct image_map *m = &image_stub->index.maps[map];
    uint64_t gap = (m->kind == IMAGE_MAP_ANON || m->kind == IMAGE_MAP_STACK ? GAP_ANON : GAP_FILE) *
                   (uint64_t)IMAGE_PAGE;
    const struct image_region *first = *next, *last;

    while (first < end && first->end <= m->start)
        first++;
    while (first < end && first->start < m->end) {
        for (last = first;
             last + 1 < end && last[1].start < m->end && last[1].start - last->end <= gap; last++)
            ;
        if (write_run(w, map, first, last) < 0)
            return -1;
        first = last + 1;
    }
    /* The last one may reach into the next mapping. */
    *next = first > *next && first[-1].end > m->end ? first - 1 : first;
    return 0;
}

/* --- mappings --- */

/* Will a copy find the same bytes under that name? */
static bool is_findable(struct image_map *m, const char *name)
{
    struct stat st;

    m->stat = m->file;
    if (image_is_known(&m->file))
        return true;
    if (name[0] != '/' || text_ends_with(name, " (deleted)") || stat(name, &st) < 0)
        return false;
    m->stat = (struct image_file){st.st_dev, st.st_ino};
    return m->is_shared || !image_is_of_tree(st.st_dev);
}

/* Does the image take all bytes of the mapping, and not just what was changed? */
static bool is_taken_whole(const struct writer *w, struct image_map *m, const char *name)
{
    if (m->kind == IMAGE_MAP_IMAGE)
        return w->request->is_flat;
    return m->kind == IMAGE_MAP_FILE && !is_findable(m, name);
}

/* Memory without the right to be read is read as well, by a child in its own copy of the memory. */
static int write_readable(struct writer *w, uint32_t map, const struct image_region **next,
                          const struct image_region *end)
{
    const struct image_map *m = &image_stub->index.maps[map];
    void *start = (void *)(uintptr_t)m->start;
    size_t len = m->end - m->start;
    bool is_hidden = !(m->prot & PROT_READ) && *next < end && (*next)->start < m->end;
    int r;

    if (is_hidden && mprotect(start, len, PROT_READ) < 0)
        return fail(w, -errno, "make memory readable");
    r = write_map(w, map, next, end);
    if (is_hidden && w->request->no_fork)
        (void)mprotect(start, len, (int)m->prot);
    return r;
}

static int write_memory(struct writer *w)
{
    struct image_stub *s = image_stub;
    struct image_index *index = &s->index;
    const struct image_region *next = s->regions, *end = s->regions + s->n_regions;

    for (uint32_t i = 0; i < s->n_maps; i++) {
        const char *name = s->text + s->maps[i].name;
        uint32_t at = index->head.n_maps;
        struct image_map *m = &index->maps[at];
        struct image_region whole = {s->maps[i].start, s->maps[i].end, 0};
        const struct image_region *first = &whole;
        bool is_whole;

        if (s->maps[i].kind == IMAGE_MAP_KERNEL)
            continue;
        *m = s->maps[i];
        index->head.n_maps++;
        is_whole = is_taken_whole(w, m, name);
        if (is_whole)
            m->kind = IMAGE_MAP_ANON;
        m->name = m->kind == IMAGE_MAP_FILE ? image_add_text(index, name) : 0;
        if (m->is_shared)
            continue;
        if (is_whole ? write_readable(w, at, &first, first + 1) : write_readable(w, at, &next, end))
            return -1;
    }
    return 0;
}

/* --- the file --- */

static int write_table(struct writer *w, const void *data, size_t len)
{
    int r = put_bytes(w->request->memory, data, len, w->at);

    w->at += len;
    return r < 0 ? fail(w, r, "write the image's index") : 0;
}

static int write_index(struct writer *w)
{
    struct image_index *index = &image_stub->index;
    struct image_head *head = &index->head;

    head->index_offset = w->at;
    head->n_images = w->request->is_flat ? 0 : image_stub->n_images;
    memcpy(head->images, image_stub->images, sizeof(head->images));
    if (write_table(w, index->maps, head->n_maps * sizeof(index->maps[0])) < 0 ||
        write_table(w, index->runs, head->n_runs * sizeof(index->runs[0])) < 0 ||
        write_table(w, index->fds, head->n_fds * sizeof(index->fds[0])) < 0 ||
        write_table(w, index->text, head->n_text) < 0)
        return -1;
    w->at = 0; /* last, so that a half-written image has none */
    return write_table(w, head, sizeof(*head));
}

static int join_groups(struct writer *w, const int *files, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (write(files[i], "0", 1) != 1)
            return image_refuse(&w->why, "the group that pays for the image cannot be joined: %s",
                                strerror(errno));
    return 0;
}

static void say(const struct writer *w, char what, const char *text)
{
    char line[sizeof(w->why.text) + 1];
    int n = snprintf(line, sizeof(line), "%c%s", what, text);

    (void)!write(w->request->status, line, (size_t)n);
}

static int write_image(struct writer *w)
{
    const struct image_request *r = w->request;

    w->at = IMAGE_HEAD_SIZE;
    if (join_groups(w, r->join, r->n_join) < 0)
        return -1;
    if (r->files >= 0) {
        if (archive_write(r->files, r->pack, r->n_pack, w->why.text, sizeof(w->why.text)) < 0)
            return -1;
        say(w, WIRE_IMAGE_FILES, "");
    }
    return write_memory(w) < 0 ? -1 : write_index(w);
}

static void finish(const struct writer *w, int r)
{
    if (r < 0)
        say(w, WIRE_IMAGE_FAILED, w->why.text);
    else
        say(w, WIRE_IMAGE_DONE, "");
}

/* The child keeps nothing open that others wait for the end of. */
static void close_others(const struct image_request *r)
{
    int keep[3 + WIRE_ATTACH_MAX] = {r->memory, r->files, r->status};
    const size_t n = 3 + r->n_join;
    unsigned from = 0;

    memcpy(keep + 3, r->join, sizeof(r->join));
    for (size_t i = 1; i < n; i++)
        for (size_t at = i; at > 0 && keep[at - 1] > keep[at]; at--) {
            int higher = keep[at - 1];

            keep[at - 1] = keep[at];
            keep[at] = higher;
        }
    for (size_t i = 0; i < n; i++) {
        if (keep[i] < (int)from)
            continue;
        if ((unsigned)keep[i] > from)
            (void)close_range(from, (unsigned)keep[i] - 1, 0);
        from = (unsigned)keep[i] + 1;
    }
    (void)close_range(from, ~0U, 0);
}

static void __attribute__((noreturn)) run_writer(struct writer *w)
{
    uint64_t all = ~UINT64_C(0);

    (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof(all));
    (void)setpgid(0, 0); /* signals for the kernel's group are not for us */
    close_others(w->request);
    finish(w, write_image(w));
    _exit(0);
}

/* No hook of Python or the C library runs, and the child is our parent's: the program neither hears
 * of its end nor can wait for it. */
static long clone_writer(void)
{
    return syscall(SYS_clone, CLONE_PARENT, NULL, NULL, NULL, NULL);
}

static enum image_outcome write_by_oneself(struct writer *w, struct image_refusal *why)
{
    int r = write_image(w);

    if (join_groups(w, w->request->leave, w->request->n_leave) < 0)
        r = -1;
    finish(w, r);
    *why = w->why;
    return r < 0 ? IMAGE_REFUSED : IMAGE_WRITTEN;
}

static enum image_outcome start_writer(const struct image_request *request,
                                       struct image_refusal *why)
{
    struct writer w = {.request = request};
    long pid;

    if (request->no_fork)
        return write_by_oneself(&w, why);
    pid = clone_writer();
    if (pid == 0)
        run_writer(&w);
    if (pid < 0)
        return image_refuse(why, "cannot start the process that writes the image: %s",
                            strerror(errno));
    return IMAGE_WRITING;
}

static int scan(struct image_refusal *why)
{
    int r = image_scan(IMAGE_PAGEMAP_FD);

    if (r == -E2BIG)
        return image_refuse(why, "memory is too scattered");
    return r < 0 ? image_refuse(why, "changed memory cannot be found: %s", strerror(-r)) : 0;
}

enum image_outcome image_write(const struct image_request *request, struct image_refusal *why)
{
    enum image_outcome outcome;

    save_state();
    if (scan(why) < 0) {
        image_stub_clear();
        return IMAGE_REFUSED;
    }
    if (image_context_save(&image_stub->index.head.context))
        return IMAGE_IS_COPY;
    outcome = start_writer(request, why);
    image_stub_clear();
    return outcome;
}
