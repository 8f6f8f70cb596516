/* The files of a sandbox, as far as a run's answer speaks of them. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/closer.h"
#include "base/fiber.h"
#include "base/json.h"
#include "base/limits.h"
#include "engine/box_internal.h"
#include "engine/masking.h"

/* --- memory of files from outside ---
 *
 * Linux counts them as ours. They are taken off what the sandbox may have, so that
 * both together stay within its limit. */

/* A program needs a little, whatever it is sent: at least to delete it again. */
#define SPARE_MOST (8 * MIB)
#define SPARE_PART 8

static uint64_t spare(const struct box *b)
{
    uint64_t part = b->allowed.memory_bytes / SPARE_PART;

    return part < SPARE_MOST ? part : SPARE_MOST;
}

int box_limit(struct box *b, const struct cgroup_limits *allowed, struct error *err)
{
    struct cgroup_limits rest = *allowed;

    rest.memory_bytes -= b->outside < rest.memory_bytes ? b->outside : rest.memory_bytes;
    if (cgroup_set_limits(b->cgroup, &rest, err) < 0)
        return -1;
    b->allowed = *allowed;
    return 0;
}

static int refuse_files(const struct box *b, struct error *err)
{
    error_set(err, E_TOO_LARGE, "files from outside count as memory, and %llu MB are not enough",
              (unsigned long long)(b->allowed.memory_bytes / MIB));
    return error_hint(err, "delete files that are not needed, or ask for more `memory_mb`");
}

static int reserve(void *user, uint64_t bytes, struct error *err)
{
    struct box *b = user;
    uint64_t before = b->outside, own;
    cleanup_error struct error why = {0};

    if (bytes > before) {
        if (b->events->on_reserve && b->events->on_reserve(b->owner, b, bytes - before, err) < 0)
            return -1;
        if (box_own_memory(b, &own, err) < 0)
            return -1;
        if (own + spare(b) + bytes > b->allowed.memory_bytes)
            return refuse_files(b, err);
    }
    b->outside = bytes;
    if (box_limit(b, &b->allowed, &why) == 0)
        return 0;
    b->outside = before;
    return refuse_files(b, err); /* the program took it meanwhile */
}

int box_take_workspace(struct box *b, struct error *err)
{
    int fd = frame_take_fd(&b->init.decoder);

    if (fd < 0)
        return error_set(err, E_PROTOCOL, "the sandbox came without its workspace");
    if (zygote_client_is_on_host(b->zygote)) /* files there are not memory: nothing is billed */
        return files_init_on_host(&b->files, fd, err);
    if (files_init(&b->files, fd, err) < 0)
        return -1;
    fd = frame_take_fd(&b->init.decoder);
    if (fd < 0)
        return error_set(err, E_PROTOCOL, "the sandbox came without its /tmp");
    if (files_add_tmp(&b->files, fd, err) < 0)
        return -1;
    return files_open_bill(&b->files, reserve, b, err);
}

void box_settle_files(struct box *b)
{
    files_settle_bill(&b->files);
}

uint64_t box_outside_bytes(const struct box *b)
{
    return b->outside;
}

int box_take_overlays(struct box *b, struct error *err)
{
    for (size_t i = 0; i < overlays_count(b->cow); i++) {
        int upper = frame_take_fd(&b->init.decoder), seen = frame_take_fd(&b->init.decoder);

        if (overlays_take(b->cow, i, upper, seen, err) < 0)
            return -1;
    }
    return 0;
}

struct overlays *box_overlays(const struct box *b)
{
    return b->was_idle ? b->cow : NULL;
}

/* A name is what the program says, too. NULL: out of memory. */
static char *masked_path(struct run *run, const char *path, bool *ret_is_masked)
{
    size_t len = strlen(path);
    struct clean_text clean = mask_text(mask_context_of(run), (struct span){path, len});

    *ret_is_masked = clean_len(clean) != len || memcmp(clean_data(clean), path, len) != 0;
    return strndup(clean_data(clean), clean_len(clean));
}

static void add_file(void *arg, enum files_change change, const struct files_entry *entry)
{
    static const enum run_file_change changes[] = {
        [FILES_NEW] = RUN_FILE_NEW,
        [FILES_CHANGED] = RUN_FILE_CHANGED,
        [FILES_GONE] = RUN_FILE_GONE,
    };
    struct run *run = arg;
    struct run_file *file;

    if (!run->result.files)
        run->result.files = calloc(LIMIT_FILES_NAMED, sizeof(*run->result.files));
    if (!run->result.files || run->result.n_files == LIMIT_FILES_NAMED) {
        run->result.has_more_files = true;
        return;
    }
    file = &run->result.files[run->result.n_files];
    *file = (struct run_file){.size = entry->size, .change = changes[change]};
    file->path = masked_path(run, entry->path, &file->is_masked);
    if (file->path)
        run->result.n_files++;
    else
        run->result.has_more_files = true;
}

struct files *box_files(struct box *b)
{
    b->is_seen_stale = true;
    return b->files.fd >= 0 ? &b->files : NULL;
}

void box_look_at_files(struct box *b)
{
    if (!b->is_seen_stale || b->files.fd < 0)
        return;
    files_list_done(&b->seen);
    b->seen = (struct files_list){0};
    b->is_seen_stale = false; /* somebody else may change it while this pauses */
    if (files_snapshot(&b->files, &b->seen, NULL) < 0)
        b->is_seen_stale = true;
}

/* A sandbox begins with nothing in its workspace, a cell with what the one before left. */
void box_note_files(struct box *b, struct run *run)
{
    struct files_list after;

    if (b->files.fd < 0 || b->cell.is_refused)
        return;
    if (files_snapshot(&b->files, &after, NULL) < 0) {
        run->result.has_more_files = true;
        b->seen.is_partial = true;
        return;
    }
    run->result.has_more_files = after.is_partial;
    files_diff(&b->seen, &after, add_file, run);
    files_list_done(&b->seen);
    b->seen = after;
}

/* --- files that travel with a run --- */

/* Written between two pauses: less than a millisecond. */
#define PUT_BYTES ((size_t)256 << 10)

/* Beyond this they are written in several turns. */
#define LARGE_BYTES ((size_t)1 << 20)

static int feed(struct files_writer *writer, const struct run_given *given, struct error *err)
{
    for (size_t at = 0; at < given->len; at += PUT_BYTES) {
        size_t left = given->len - at;

        if (fiber_is_cancelled())
            return error_set(err, E_SYSTEM, "the run has been ended");
        if (files_write_feed(writer, given->data + at, left < PUT_BYTES ? left : PUT_BYTES, err) <
            0)
            return -1;
        fiber_pause();
    }
    return 0;
}

static int put_file(const struct files *files, const struct run_given *given, struct error *err)
{
    const struct files_write_options options = {.is_executable = given->is_executable,
                                                .makes_parents = true};
    struct files_writer writer;

    if (files_write_begin(&writer, files, given->path, &options, err) < 0)
        return -1;
    if (feed(&writer, given, err) < 0) {
        files_write_abort(&writer);
        return -1;
    }
    return files_write_commit(&writer, err);
}

int box_put_files(struct box *b, const struct run *run, struct error *err)
{
    const struct files *files = run->program.n_given ? box_files(b) : NULL;

    if (run->program.n_given && !files)
        return error_set(err, E_SYSTEM, "the sandbox has no workspace");
    for (size_t i = 0; i < run->program.n_given; i++)
        if (put_file(files, &run->program.given[i], err) < 0) {
            /* That word is kept for sandboxes that died, of which another is tried. */
            if (err && err->code == E_BUSY)
                err->code = E_SYSTEM;
            return error_wrap(err, "a file that came with the request");
        }
    return 0;
}

bool box_has_large_files(const struct run *run)
{
    size_t bytes = 0;

    for (size_t i = 0; i < run->program.n_given && bytes <= LARGE_BYTES; i++)
        bytes += run->program.given[i].len;
    return bytes > LARGE_BYTES;
}

bool box_files_are_stale(const struct box *b)
{
    return b->is_seen_stale && b->files.fd >= 0;
}

bool box_is_filling(const struct box *b)
{
    return b->after_files != NULL;
}

static void work_on_files(void *arg)
{
    struct box *b = arg;

    if (box_put_files(b, b->run, &b->files_error) == 0)
        box_look_at_files(b);
}

static void spend_on_files(void *arg, uint64_t cpu_ns)
{
    struct box *b = arg;

    b->run->result.server_cpu_ns += cpu_ns;
}

/* In a session the sandbox lives on, and is ready for the next cell. */
static void fail_files(struct box *b, struct run *run)
{
    if (run->result.error.code == E_NONE)
        error_move(&run->result.error, &b->files_error);
    if (b->terms)
        b->is_answer_due = true;
    else
        box_kill(b);
}

static void end_files(void *arg)
{
    struct box *b = arg;
    struct run *run = b->run;
    int (*next)(struct box * b, struct run * run, struct error * err) = b->after_files;

    b->after_files = NULL;
    if (b->state == BOX_RUNNING && b->cell.verdict == BOX_NO_VERDICT &&
        (b->files_error.code != E_NONE || next(b, run, &b->files_error) < 0))
        fail_files(b, run);
    error_done(&b->files_error);
    box_go_on(b); /* the box may be freed from here on */
}

void box_put_files_slowly(struct box *b, struct run *run,
                          int (*next)(struct box *b, struct run *run, struct error *err))
{
    static const struct task_steps steps = {work_on_files, end_files, spend_on_files};

    box_begin_cell(b, run);
    b->state = BOX_RUNNING;
    b->after_files = next;
    run->result.handed_ns = loop_now_ns();
    task_post(&b->text, b->loop, &steps, b);
}

/* Read between two pauses: less than a millisecond. */
#define PIECE_BYTES ((size_t)512 << 10)

/* NULL: out of memory, it is shorter by now, or nobody wants it any more. */
static char *read_whole(int fd, size_t size)
{
    char *data = malloc(size + 1);
    size_t at = 0;

    while (data && at < size) {
        size_t want = size - at < PIECE_BYTES ? size - at : PIECE_BYTES;
        ssize_t n = files_read(fd, at, data + at, want, NULL);

        fiber_pause();
        if (n <= 0 || fiber_is_cancelled()) {
            free(data);
            return NULL;
        }
        at += (size_t)n;
    }
    if (data)
        data[size] = '\0';
    return data;
}

/* Text is masked like everything that leaves; what is none is left as it is, as pictures are. */
static void keep_content(struct run *run, struct run_collected *file, int fd)
{
    size_t size = (size_t)file->size;
    cleanup_free char *data = read_whole(fd, size);
    struct clean_text clean;

    if (!data || !json_text_is_utf8(data, size)) {
        file->data = take_ptr(data);
        file->len = size;
        return;
    }
    clean = mask_text(mask_context_of(run), (struct span){data, size});
    if (fiber_is_cancelled()) /* it was not masked to its end */
        return;
    file->data = malloc(clean_len(clean) + 1);
    if (!file->data)
        return;
    memcpy(file->data, clean_data(clean), clean_len(clean));
    file->data[clean_len(clean)] = '\0';
    file->len = clean_len(clean);
}

static int collect_file(void *arg, const struct files_entry *entry, int fd, struct error *err)
{
    cleanup(closer_close_file) int own = fd;
    struct run *run = arg;
    struct run_collected *file;
    bool is_masked;

    (void)err;
    if (run->result.n_collected == LIMIT_FILES_COLLECTED || fiber_is_cancelled()) {
        run->result.has_more_collected = true;
        return -1;
    }
    file = &run->result.collected[run->result.n_collected];
    *file = (struct run_collected){masked_path(run, entry->path, &is_masked), entry->size, NULL};
    if (!file->path) {
        run->result.has_more_collected = true;
        return -1;
    }
    run->result.n_collected++;
    if (entry->size <= LIMIT_COLLECTED_BYTES - run->result.collected_bytes)
        keep_content(run, file, own);
    if (file->data)
        run->result.collected_bytes += (size_t)entry->size;
    else
        run->result.has_more_collected = true;
    return 0;
}

void box_collect_files(const struct box *b, struct run *run)
{
    bool is_partial = false;
    size_t count = 0;

    if (!run->program.collect || b->files.fd < 0 || b->cell.is_refused)
        return;
    while (run->program.collect[count])
        count++;
    run->result.collected = calloc(LIMIT_FILES_COLLECTED, sizeof(*run->result.collected));
    if (!run->result.collected ||
        files_collect(&b->files, &b->seen, (const char *const *)run->program.collect, count,
                      collect_file, run, &is_partial, NULL) < 0)
        run->result.has_more_collected = true;
    run->result.has_more_collected |= is_partial;
}
