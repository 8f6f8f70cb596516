/* Images of a kept sandbox, and sandboxes that become copies.
 *
 * An image is written by a child of the kernel, in a cgroup of its own: what it writes would
 * otherwise count against the sandbox. The program is held until its memory is split off and its
 * files are packed; the rest happens beside it. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/meminfo.h"
#include "base/quote.h"
#include "engine/box_internal.h"
#include "engine/masking.h"

/* Writing takes a third of a second per GB; more than this is a kernel that does not answer. */
#define IMAGE_MS   60000
#define RESTORE_MS 60000

/* Of its message: every overlay comes with its path. */
#define RESTORE_BYTES (64 * KIB)

/* Time for a Bash kernel to report its variables. */
#define BASH_MS 10000

/* The part of the host's memory that images leave free. */
#define SPARE 20

struct box_copy {
    struct box *box; /* NULL: it is gone, and nobody waits for the rest */
    struct memory_image *image;
    struct cgroup *group;
    int status, theirs; /* both ends of the pipe; the other one until it is handed over */
    struct loop_watch *watch, *deadline;
    char said[WIRE_IMAGE_TEXT + 8];
    size_t len;
    bool is_holding; /* the program waits */
    bool is_flat;
    struct overlays_packer *packer; /* the overlays are being packed, or it was tried */
    bool is_packing;
    bool has_overlays;    /* they are packed; true as well where there are none */
    bool is_over;         /* the writer has said everything */
    char *overlays_fault; /* they could not be packed: a program's words, or NULL */
    bool waits_for_bash;  /* for its variables; memory and files are next */
    const struct box_copy_events *events;
    void *user;
};

/* A process that was handed the files to join a group could do so again, as long as the group
 * exists: it is emptied whenever we come by. Returns a free place for another group, or NULL. */
static struct cgroup **clear_groups(struct box *b)
{
    struct cgroup **room = NULL;

    for (size_t i = 0; i < BOX_IMAGE_GROUPS; i++) {
        struct cgroup **group = &b->image_groups[i];

        if (*group) {
            cgroup_kill(*group);
            if (cgroup_remove(*group) == 0)
                *group = NULL;
        }
        if (!*group)
            room = group;
    }
    return room;
}

static void leave_group(struct box_copy *c)
{
    struct cgroup **room = clear_groups(c->box);

    cgroup_kill(c->group);
    if (room && cgroup_remove(c->group) < 0)
        *room = c->group;
    else if (!room)
        cgroup_discard(c->group);
}

static void free_copy(struct box_copy *c)
{
    loop_watch_free(c->watch);
    loop_watch_free(c->deadline);
    close_fd(&c->status);
    close_fd(&c->theirs);
    overlays_packer_free(c->packer);
    free(c->overlays_fault);
    if (c->group)
        leave_group(c);
    image_unref(c->image);
    free(c);
}

/* The program goes on; the writer may still be at it. */
static void let_go(struct box_copy *c, bool goes_well)
{
    struct box *b = c->box;

    if (!c->is_holding)
        return;
    c->is_holding = false;
    if (b->state == BOX_COPYING)
        b->state = BOX_KEPT;
    c->events->on_released(c->user, goes_well);
}

static void finish(struct box_copy *c, struct error *err)
{
    let_go(c, err->code == E_NONE);
    c->box->copy = NULL;
    c->events->on_image(c->user, err->code == E_NONE ? image_ref(c->image) : NULL, err);
    free_copy(c); /* last: copies need not wait for the end of a cgroup */
    error_done(err);
}

/* The program has its kernel in its power: what the kernel says are a program's words. */
static void set_words(const struct box *b, struct error *err, const char *prefix, struct span said)
{
    struct clean_text clean = mask_text(
        (struct mask_context){.level = b->terms->masking, .masks = b->engine_masks}, said);
    cleanup_free char *words =
        quote_words((struct span){clean_data(clean), clean_len(clean)}, WIRE_IMAGE_TEXT);

    error_set(err, E_INVALID, "%s: %s", prefix, words ? words : "\"\"");
}

/* The end of the pipe: everything is said. */
static void judge(struct box_copy *c)
{
    const char *word = c->said;
    struct error err = {0};
    size_t len = c->len;

    if (len && *word == WIRE_IMAGE_FILES) {
        word++;
        len--;
    }
    if (len && *word == WIRE_IMAGE_DONE && !c->has_overlays) {
        set_words(c->box, &err,
                  "the session could not be copied: the changes in its copy-on-write directories "
                  "could not be packed",
                  span_of(c->overlays_fault ? c->overlays_fault : ""));
        error_hint(&err, "apply or discard them, then try again");
    } else if (len && *word == WIRE_IMAGE_DONE) {
        if (c->group)
            cgroup_kill(c->group);
        (void)image_seal(c->image, &err);
    } else if (len && *word == WIRE_IMAGE_REFUSED) {
        set_words(c->box, &err, "the session cannot be copied now; its kernel says",
                  (struct span){word + 1, len - 1});
        error_hint(&err, "end or close what the message names and try again");
    } else if (len && *word == WIRE_IMAGE_FAILED) {
        set_words(c->box, &err, "the session could not be copied; its kernel says",
                  (struct span){word + 1, len - 1});
    } else {
        error_set(&err, E_SYSTEM, "the session could not be copied: its writer died");
    }
    finish(c, &err);
}

/* While the writer is at it, what the program changes exists twice, and both count against its
 * sandbox. One that has no room for that is held until the end, and one without a cgroup, where the
 * writer itself would be counted. */
static bool is_tight(struct box *b)
{
    struct cgroup_usage usage = {0};
    struct error err = {0};

    if (cgroup_read(b->cgroup, CGROUP_PRESENT, &usage, &err) < 0)
        error_done(&err);
    return cgroup_host_kind(b->cgroups) == CGROUP_NONE ||
           usage.memory_bytes > b->terms->limits.memory_bytes / 2;
}

static void may_let_go(struct box_copy *c)
{
    if (c->said[0] == WIRE_IMAGE_FILES && c->has_overlays && !is_tight(c->box))
        let_go(c, true);
}

/* --- overlays of copy-on-write grants --- */

static void on_packed(void *user, bool is_packed, const char *why)
{
    struct box_copy *c = user;

    c->is_packing = false;
    c->has_overlays = is_packed;
    if (!is_packed)
        c->overlays_fault = strdup(*why ? why : "the process that packs them died");
    if (c->is_over)
        judge(c);
    else
        may_let_go(c);
}

/* Once the kernel has found that nothing else runs in the sandbox, and while it waits. */
static void pack_overlays(struct box_copy *c)
{
    struct error err = {0};

    if (c->has_overlays || c->packer || c->overlays_fault || c->said[0] != WIRE_IMAGE_FILES)
        return;
    c->is_packing = overlays_packer_new(c->box->loop, c->box->cow, c->image->overlays, c->group,
                                        on_packed, c, &c->packer, &err) == 0;
    if (!c->is_packing)
        c->overlays_fault = strdup(error_message(&err));
    error_done(&err);
}

/* The end of the pipe. */
static void on_writer_end(struct box_copy *c)
{
    loop_watch_free(take_ptr(c->watch));
    c->is_over = true;
    if (!c->is_packing)
        judge(c);
}

static void on_status(void *arg)
{
    struct box_copy *c = arg;
    char rest[256];
    size_t room = sizeof(c->said) - 1 - c->len;
    ssize_t n =
        room ? read(c->status, c->said + c->len, room) : read(c->status, rest, sizeof(rest));

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        on_writer_end(c);
        return;
    }
    if (room)
        c->len += (size_t)n;
    pack_overlays(c);
    may_let_go(c);
}

/* A kernel that hangs where no program of its session is on: it is of no further use. */
static void on_image_deadline(void *arg)
{
    struct box_copy *c = arg;
    struct box *b = c->box;
    struct error err = {0};

    if (c->is_holding && b->state == BOX_COPYING) {
        b->state = BOX_KEPT;
        b->kernels[c->waits_for_bash ? WIRE_KERNEL_BASH : WIRE_KERNEL_PYTHON].was_lost = true;
        box_restart(b, c->waits_for_bash ? RUN_BASH : RUN_PYTHON);
    }
    error_set(&err, E_SYSTEM, "the session could not be copied: %s",
              c->waits_for_bash ? "its Bash does not report its variables" : "it takes too long");
    finish(c, &err);
}

/* --- asking for an image --- */

static int make_group(struct box_copy *c, const struct run_limits *limits, struct error *err)
{
    char name[BOX_GROUP_NAME];

    if (cgroup_host_kind(c->box->cgroups) == CGROUP_NONE)
        return 0;
    box_next_group(name);
    return cgroup_new(c->box->cgroups, name,
                      &(struct cgroup_limits){
                          .memory_bytes = image_memory_max(limits) + image_files_max(limits),
                          .processes = limits->processes + BOX_OWN_PROCESSES,
                          .cpu_percent = limits->cpu_percent,
                      },
                      &c->group, err);
}

struct letter {
    int fds[WIRE_IMAGE_FDS + 2 * CGROUP_ATTACH_MAX];
    size_t count;
    size_t first; /* that is ours to close */
};

static void letter_done(struct letter *l)
{
    for (size_t i = l->first; i < l->count; i++)
        close_fd(&l->fds[i]);
}

static int add_groups(struct letter *l, const struct cgroup *group, uint32_t *ret_count,
                      struct error *err)
{
    int n = group ? cgroup_attach_fds(group, l->fds + l->count, err) : 0;

    if (n < 0)
        return -1;
    l->count += (size_t)n;
    *ret_count = (uint32_t)n;
    return 0;
}

/* A kernel that has died a moment ago, of which pid 1 has not told yet, is no mistake of anybody's.
 */
static int told(int r, struct error *err)
{
    if (r == 0 || !peer_was_gone(err))
        return r;
    error_done(err);
    error_set(err, E_BUSY, "a kernel of the session has just ended");
    return error_hint(err, "try again");
}

/* Kernels that run beside Python's. */
static uint32_t other_kernels(const struct box *b)
{
    uint32_t flags = 0;

    for (unsigned i = WIRE_KERNEL_PYTHON + 1; i < WIRE_KERNEL_CHECKER; i++)
        if (b->kernels[i].is_alive)
            flags |= WIRE_IMAGE_KERNEL(i);
    return flags;
}

/* The copy of a session starts its drivers anew, and says so. */
static void note_drivers(const struct box *b, struct memory_image *image)
{
    for (unsigned i = 0; i < WIRE_KERNEL_CHECKER; i++)
        if (language_has_driver(i) && b->kernels[i].is_alive) {
            image->was_lost[i] = true;
            image->lost = image->lost ? "variables of Bash and other languages"
                                      : "variables of languages other than Python and Bash";
        }
}

static int send_request(struct box_copy *c, struct error *err)
{
    struct box *b = c->box;
    cleanup(letter_done) struct letter l = {
        .fds = {c->image->memory, c->image->files, c->theirs}, .count = 3, .first = 3};
    struct wire_image message = {.flags = (c->is_flat ? WIRE_IMAGE_FLAT : 0) |
                                          (b->terms->may_spawn ? 0 : WIRE_IMAGE_NO_FORK) |
                                          other_kernels(b)};
    struct pack p;
    int r;

    note_drivers(b, c->image);
    if (add_groups(&l, c->group, &message.joins, err) < 0)
        return -1;
    if (!b->terms->may_spawn && c->group && add_groups(&l, b->cgroup, &message.leaves, err) < 0)
        return -1;
    pack_init(&p, 64);
    wire_pack_image(&p, &message);
    r = told(peer_send(&b->kernels[WIRE_KERNEL_PYTHON].peer, WIRE_IMAGE, &p, l.fds, l.count, err),
             err);
    pack_done(&p);
    close_fd(&c->theirs);
    loop_timer_start(c->deadline, IMAGE_MS);
    return r;
}

/* --- variables of Bash, which go first: memory is the last thing to be looked at --- */

static int ask_bash(struct peer *bash, struct error *err)
{
    static const char save[] = WIRE_BASH_SAVE;

    peer_enter(bash, WIRE_STATE_SAVING);
    return told(peer_send_bytes(bash, save, sizeof(save) - 1, err), err);
}

/* If no Bash has started, there is what its session began with, or nothing. If one is about to
 * start, we wait: until then it has another name, and would be taken for a program's. */
static int begin_with_bash(struct box_copy *c, struct error *err)
{
    struct box *b = c->box;
    struct box_kernel *k = &b->kernels[WIRE_KERNEL_BASH];

    if (!k->is_alive) {
        if (b->bash.len && buf_add(&c->image->bash, b->bash.data, b->bash.len, err) < 0)
            return -1;
        return send_request(c, err);
    }
    c->waits_for_bash = true;
    loop_timer_start(c->deadline, BASH_MS);
    if (k->is_restarting || k->peer.state != WIRE_STATE_READY ||
        k->peer.channel != WIRE_CHANNEL_CELLS)
        return 0;
    return ask_bash(&k->peer, err);
}

void box_copy_on_bash_ready(struct box *b)
{
    struct error err = {0};

    if (b->copy && b->copy->waits_for_bash &&
        ask_bash(&b->kernels[WIRE_KERNEL_BASH].peer, &err) < 0)
        box_copy_on_bash_end(b);
    error_done(&err);
}

/* Text for another shell, which may come of any program: no NUL, as it ends with one. */
static int keep_state(struct memory_image *image, const struct frame *frame, struct error *err)
{
    if (!frame->len || *frame->body == WIRE_SAVED_NOTHING ||
        memchr(frame->body, '\0', frame->len)) {
        image->lost = "variables of bash";
        return 0;
    }
    if (*frame->body == WIRE_SAVED_BUT_FILES)
        image->lost = "open files of bash";
    return buf_add(&image->bash, frame->body + 1, frame->len - 1, err);
}

static void on_saved(struct box_copy *c, const struct frame *frame)
{
    struct error err = {0};

    c->waits_for_bash = false;
    if (keep_state(c->image, frame, &err) < 0 || send_request(c, &err) < 0)
        finish(c, &err);
}

/* Not from here: whoever waits may go on with cells at once. */
void box_copy_on_bash_end(struct box *b)
{
    if (b->copy && b->copy->waits_for_bash)
        loop_timer_start(b->copy->deadline, 0);
}

static int begin(struct box_copy *c, struct memory_image *origin, struct error *err)
{
    struct box *b = c->box;
    int pair[2];

    if (image_new(&b->limits, origin, &c->image, &c->is_flat, err) < 0 ||
        image_add_overlays(c->image, &b->limits, b->cow, err) < 0 ||
        make_group(c, &b->limits, err) < 0)
        return -1;
    c->image->cells = b->cells;
    for (size_t i = 0; i < WIRE_KERNELS; i++)
        c->image->was_lost[i] = b->kernels[i].was_lost;
    if (pipe2(pair, O_CLOEXEC) < 0)
        return error_errno(err, "pipe2");
    c->status = pair[0];
    c->theirs = pair[1];
    if (fcntl(c->status, F_SETFL, O_NONBLOCK) < 0)
        return error_errno(err, "fcntl");
    c->watch = loop_watch_fd(b->loop, c->status, LOOP_READ, on_status, c);
    c->deadline = loop_timer(b->loop, on_image_deadline, c);
    if (!c->watch || !c->deadline)
        return error_memory(err);
    return begin_with_bash(c, err);
}

/* Images are on nobody's bill but the host's. */
static int check_memory(struct box *b, struct error *err)
{
    struct cgroup_usage usage = {0};
    struct meminfo m;

    if (cgroup_read(b->cgroup, CGROUP_PRESENT, &usage, err) < 0)
        return -1;
    if (!meminfo_read(&m) || m.available_bytes > usage.memory_bytes + m.total_bytes / SPARE)
        return 0;
    error_set(err, E_BUSY, "the host does not have enough memory left for a copy");
    return error_hint(err, "end sessions or forget checkpoints that are not needed");
}

int box_image(struct box *b, struct memory_image *origin, bool is_flat,
              const struct box_copy_events *events, void *user, struct error *err)
{
    struct box_copy *c;

    if (b->state != BOX_KEPT || b->copy)
        return error_set(err, E_BUSY, "the session is busy");
    if (b->kernels[WIRE_KERNEL_PYTHON].peer.is_over ||
        b->kernels[WIRE_KERNEL_PYTHON].peer.state != WIRE_STATE_READY ||
        b->kernels[WIRE_KERNEL_PYTHON].peer.channel != WIRE_CHANNEL_CELLS)
        return error_set(err, E_BUSY, "the session's Python kernel is starting");
    if (check_memory(b, err) < 0)
        return -1;
    if (!clear_groups(b)) {
        error_set(err, E_BUSY,
                  "processes of the session are still in the cgroups of earlier copies");
        return error_hint(err, "end them, or the session");
    }
    c = calloc(1, sizeof(*c));
    if (!c)
        return error_memory(err);
    *c = (struct box_copy){
        .box = b,
        .status = -1,
        .theirs = -1,
        .is_holding = true,
        .is_flat = is_flat,
        .has_overlays = !b->cow,
        .events = events,
        .user = user,
    };
    if (begin(c, origin, err) < 0) {
        free_copy(c);
        return -1;
    }
    b->copy = c;
    b->state = BOX_COPYING;
    return 0;
}

/* --- becoming a copy --- */

static int send_restore(struct box *b, const struct memory_image *image, uint32_t flags,
                        struct error *err)
{
    struct wire_restore message = {.flags = flags, .cells = image->cells};
    int fds[1 + WIRE_IMAGES_MAX + 1] = {image->files};
    size_t n_fds;
    struct pack p;
    int r;

    for (size_t i = 0; i < image->n_parents; i++)
        fds[1 + message.images++] = image->parents[i]->memory;
    fds[1 + message.images++] = image->memory;
    n_fds = 1 + message.images;
    for (size_t i = 0; i < overlays_count(image->past); i++)
        message.overlays.items[message.overlays.count++] = span_of(overlays_path(image->past, i));
    if (message.overlays.count)
        fds[n_fds++] = image->overlays;
    pack_init(&p, RESTORE_BYTES);
    wire_pack_restore(&p, &message);
    r = told(peer_send(&b->kernels[WIRE_KERNEL_PYTHON].peer, WIRE_RESTORE, &p, fds, n_fds, err),
             err);
    pack_done(&p);
    return r;
}

int box_restore(struct box *b, const struct memory_image *image, uint32_t flags,
                void (*on_restored)(void *owner, struct box *box, struct error *err),
                struct error *err)
{
    struct peer *peer = &b->kernels[WIRE_KERNEL_PYTHON].peer;

    if (b->state != BOX_KEPT || peer->state != WIRE_STATE_READY || b->on_restored)
        return error_set(err, E_BUSY, "the sandbox is not fresh");
    peer_enter(peer, WIRE_STATE_HANDED);
    if (overlays_inherit(b->cow, image->past, image->taken_ns, err) < 0 ||
        send_restore(b, image, flags, err) < 0)
        return -1;
    buf_init(&b->bash, WIRE_BASH_STATE_MAX);
    if (image->bash.len && buf_add(&b->bash, image->bash.data, image->bash.len, err) < 0)
        return -1;
    b->cells = image->cells;
    for (size_t i = 0; i < WIRE_KERNELS; i++)
        b->kernels[i].was_lost = image->was_lost[i];
    b->is_seen_stale = true;
    b->has_run_code = true; /* what it becomes has */
    b->on_restored = on_restored;
    b->state = BOX_COPYING;
    loop_timer_start(b->deadline, RESTORE_MS);
    return 0;
}

static void end_restore(struct box *b, struct error *err)
{
    void (*on_restored)(void *, struct box *, struct error *) = b->on_restored;

    b->on_restored = NULL;
    loop_timer_stop(b->deadline);
    if (b->state == BOX_COPYING)
        b->state = BOX_KEPT;
    on_restored(b->owner, b, err);
    error_done(err);
}

bool box_copy_on_message(struct box_kernel *k, const struct frame *frame)
{
    struct box *b = k->box;
    struct wire_failure m;
    struct error err = {0};
    struct unpack u;

    if (frame->type == WIRE_SAVED) {
        if (b->copy && b->copy->waits_for_bash)
            on_saved(b->copy, frame);
        return true;
    }
    if (!b->on_restored || k != &b->kernels[WIRE_KERNEL_PYTHON])
        return false;
    if (frame->type == WIRE_RESTORED) {
        end_restore(b, &err);
        return true;
    }
    unpack_init(&u, frame->body, frame->len);
    if (frame->type == WIRE_FAILED && wire_unpack_failure(&u, &m))
        set_words(b, &err, "the copy could not be made; its kernel says", m.message);
    else
        error_set(&err, E_PROTOCOL, "the copy could not be made: it sent an unexpected message");
    end_restore(b, &err);
    return true;
}

void box_copy_on_trouble(struct box *b, const char *what)
{
    struct error err = {0};

    if (b->on_restored) {
        error_set(&err, E_SYSTEM, "the copy could not be made: %s", what);
        end_restore(b, &err);
    }
}

/* The box is going: whoever waits is told, the image is lost. */
void box_copy_end(struct box *b)
{
    struct error err = {0};

    box_copy_on_trouble(b, "its sandbox died");
    if (b->copy) {
        error_set(&err, E_SYSTEM, "the session could not be copied: it ended");
        finish(b->copy, &err);
    }
}
