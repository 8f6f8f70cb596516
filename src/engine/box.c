#include "engine/box.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/layer.h"
#include "base/net.h"
#include "base/stream.h"
#include "engine/box_internal.h"
#include "engine/masking.h"
#include "mask/masker.h"
#include "sandbox/grant.h"
#include "sandbox/monitor.h"
#include "sandbox/own_places.h"

/* After SIGKILL a sandbox is gone in a few ms. One that is not (a process stuck in the kernel) does
 * not hold the answer. */
#define KILL_PATIENCE_MS 700

/* A zygote that does not report it gone by then does not answer at all. */
#define GIVE_UP_MS 10000

/* --- making --- */

static int make_pipe(int *ret_ours, int *ret_theirs, struct error *err)
{
    int pair[2];

    if (pipe2(pair, O_CLOEXEC) < 0)
        return error_errno(err, "pipe2");
    *ret_ours = pair[0];
    *ret_theirs = pair[1];
    /* A sandbox opens it again by /dev/stdout, as a user of its own. Nobody else has a path to it.
     */
    if (fchmod(pair[1], 0666) < 0)
        return error_errno(err, "fchmod");
    /* Ours only: a pipe's two ends have flags of their own. */
    return fcntl(pair[0], F_SETFL, O_NONBLOCK) < 0 ? error_errno(err, "fcntl") : 0;
}

/* The way back of what programs ask for. */
static int make_replies(int *ret_ours, int *ret_theirs, struct error *err)
{
    int pair[2];

    if (pipe2(pair, O_CLOEXEC) < 0)
        return error_errno(err, "pipe2");
    *ret_ours = pair[1];
    *ret_theirs = pair[0];
    return fcntl(pair[1], F_SETFL, O_NONBLOCK) < 0 ? error_errno(err, "fcntl") : 0;
}

static int make_socket(int *ret_ours, int *ret_theirs, struct error *err)
{
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return error_errno(err, "socketpair");
    *ret_ours = pair[0];
    *ret_theirs = pair[1];
    return fcntl(pair[0], F_SETFL, O_NONBLOCK) < 0 ? error_errno(err, "fcntl") : 0;
}

static int open_init(struct box *b, int *ret_socket, struct error *err)
{
    cleanup_close int ours = -1;
    int fd;

    if (make_socket(&ours, ret_socket, err) < 0)
        return -1;
    fd = take_fd(ours);
    return peer_init(&b->init, b->loop, fd, fd, WIRE_CHANNEL_INIT, &box_init_events, b, err);
}

/* Their ends come in the order of WIRE_KERNEL and are the caller's, also after a failure. */
int box_open_kernel(struct box_kernel *k, int ret_theirs[WIRE_KERNEL_FDS], struct error *err)
{
    cleanup_close int ours = -1, report = -1;

    if (make_socket(&ours, &ret_theirs[0], err) < 0 || make_pipe(&report, &ret_theirs[1], err) < 0)
        return -1;
    /* Nobody reads it. A program could send descriptors of large files, which closing would free.
     */
    if (shutdown(ours, SHUT_RD) < 0)
        return error_errno(err, "shutdown");
    if (peer_init(&k->peer, k->box->loop, take_fd(report), take_fd(ours), WIRE_CHANNEL_KERNEL,
                  k->command ? &box_command_events : &box_kernel_events, k, err) < 0)
        return -1;
    if (make_pipe(&k->out, &ret_theirs[2], err) < 0 || make_pipe(&k->err, &ret_theirs[3], err) < 0)
        return -1;
    if (make_replies(&k->replies, &ret_theirs[4], err) < 0)
        return -1;
    k->is_alive = true;
    return 0;
}

void box_close_kernel(struct box_kernel *k)
{
    peer_done(&k->peer);
    box_unwatch_output(k);
    call_desk_free(k->calls);
    k->calls = NULL;
    loop_watch_free(k->quiet);
    k->quiet = NULL;
    k->has_terminal = false;
    close_fd(&k->replies);
    close_fd(&k->out);
    close_fd(&k->err);
    k->is_alive = false;
}

static void cgroup_limits_of(const struct box *b, const struct run_limits *limits,
                             struct cgroup_limits *ret_limits)
{
    *ret_limits = (struct cgroup_limits){
        .memory_bytes = limits->memory_bytes,
        .processes = limits->processes + b->own_processes,
        .cpu_percent = limits->cpu_percent,
    };
}

/* Groups of all engines of a process are in one directory (sandbox/cgroup_sweep.c). */
static unsigned long long n_groups;

void box_next_group(char name[static BOX_GROUP_NAME])
{
    (void)snprintf(name, BOX_GROUP_NAME, "%llx", ++n_groups);
}

static int make_cgroup(struct box *b, const struct run_limits *limits, struct error *err)
{
    struct cgroup_limits wanted;
    char name[BOX_GROUP_NAME];

    cgroup_limits_of(b, limits, &wanted);
    b->allowed = wanted;
    b->cgroup = cgroup_take(b->cgroups, &wanted);
    if (b->cgroup)
        return 0;
    box_next_group(name);
    return cgroup_new(b->cgroups, name, &wanted, &b->cgroup, err);
}

/* Making a group takes as long as all else that is done here. The next one is made while the zygote
 * is at work, unless this is a single run. */
static void make_cgroup_ahead(struct box *b, const struct run_limits *limits)
{
    struct cgroup_limits wanted;
    char name[BOX_GROUP_NAME];

    if (n_groups < 2)
        return;
    cgroup_limits_of(b, limits, &wanted);
    box_next_group(name);
    cgroup_prepare(b->cgroups, name, &wanted);
}

/* Descriptors for the zygote, which are ours to close whatever happens. */
struct gift {
    int fds[WIRE_SPAWN_FDS + WIRE_ATTACH_MAX + WIRE_GRANTS_MAX];
    size_t count;
};

static void gift_done(struct gift *g)
{
    for (size_t i = 0; i < g->count; i++)
        close_fd(&g->fds[i]);
}

static void on_broker_ready(void *owner);
static void on_broker_begun(void *owner);
static void on_broker_failed(void *owner, struct error *err);

static const struct broker_events broker_events = {on_broker_ready, on_broker_begun,
                                                   on_broker_failed};

/* The broker gets copies of the writable mounts; here nobody keeps one. */
static int start_broker(struct box *b, const struct box_spec *spec, uint32_t uid, uint32_t gid,
                        int *writable, struct error *err)
{
    bool is_needed = false;
    int r = 0;

    for (size_t i = 0; i < spec->n_grants; i++)
        is_needed |= writable[i] >= 0;
    if (is_needed && !spec->brokers)
        r = error_set(err, E_INTERNAL, "nobody writes to granted directories here");
    else if (is_needed)
        r = broker_client_new(spec->brokers,
                              &(struct broker_spec){.grants = spec->grants,
                                                    .n_grants = spec->n_grants,
                                                    .writable = writable,
                                                    .uid = uid,
                                                    .gid = gid},
                              &broker_events, b, &b->broker, err);
    for (size_t i = 0; i < spec->n_grants; i++)
        close_fd(&writable[i]);
    return r;
}

/* At the level `process` nothing is mounted: the directories themselves, for Landlock. */
static int lend_grants(const struct box_spec *spec, struct gift *g, struct error *err)
{
    for (size_t i = 0; i < spec->n_grants; i++) {
        if (spec->grants[i].mode != RUN_GRANT_RO)
            return error_set(err, E_UNSUPPORTED,
                             "isolation `process` grants directories for reading only");
        g->fds[g->count] = fcntl(spec->grants[i].fd, F_DUPFD_CLOEXEC, 3);
        if (g->fds[g->count] < 0)
            return error_errno(err, "fcntl");
        g->count++;
    }
    return 0;
}

static int collect(struct box *b, const struct box_spec *spec, struct wire_spawn *message,
                   struct gift *g, struct hidden *hidden, struct error *err)
{
    static const enum wire_grant_mode modes[] = {
        [RUN_GRANT_RO] = WIRE_GRANT_RO,
        [RUN_GRANT_RW] = WIRE_GRANT_RW,
        [RUN_GRANT_COW] = WIRE_GRANT_COW,
    };
    const struct ns_ids *ids = zygote_client_ids(b->zygote);
    uint32_t uid = ids->uid_base + message->uid, gid = ids->gid_base + message->uid;
    int writable[LIMIT_GRANTS], n;

    n = cgroup_attach_fds(b->cgroup, g->fds + g->count, err);
    if (n < 0)
        return -1;
    g->count += (size_t)n;
    message->attach = (uint32_t)n;
    if (zygote_client_is_on_host(b->zygote)) {
        if (lend_grants(spec, g, err) < 0)
            return -1;
    } else {
        if (grant_mount(spec->grants, spec->n_grants, uid, gid, g->fds + g->count, writable, err) <
            0)
            return -1;
        g->count += spec->n_grants;
        if (start_broker(b, spec, uid, gid, writable, err) < 0)
            return -1;
    }
    message->n_grants = (uint32_t)spec->n_grants;
    for (size_t i = 0; i < spec->n_grants; i++) {
        message->grants[i].path = span_of(spec->grants[i].path);
        message->grants[i].mode = modes[spec->grants[i].mode];
    }
    if (hidden_find(spec->grants, spec->n_grants, hidden, err) < 0)
        return -1;
    if (hidden->paths[0] && zygote_client_is_on_host(b->zygote)) {
        error_set(err, E_UNSUPPORTED,
                  "a granted directory contains `%s`, which isolation `process` cannot hide",
                  hidden->paths[0]);
        return error_hint(err, "grant a directory without files of Belljar in it");
    }
    for (; hidden->paths[message->hidden.count]; message->hidden.count++)
        message->hidden.items[message->hidden.count] =
            span_of(hidden->paths[message->hidden.count]);
    return 0;
}

static int make(struct box *b, const struct box_spec *spec, struct error *err)
{
    cleanup(gift_done) struct gift g = {.fds = {-1, -1, -1, -1, -1, -1}, .count = WIRE_SPAWN_FDS};
    cleanup(hidden_done) struct hidden hidden = {0};
    struct wire_spawn message = {
        .id = b->id,
        .uid = ns_next_uid(zygote_client_ids(b->zygote)),
        .disk_bytes = spec->limits.disk_bytes,
        .inodes = spec->limits.inodes,
        .workdir = span_of(spec->workdir),
        .flags = (spec->touch ? WIRE_SPAWN_TOUCH : 0) |
                 (cgroup_host_kind(b->cgroups) == CGROUP_NONE ? WIRE_SPAWN_NO_MEMFD : 0) |
                 (spec->net ? WIRE_SPAWN_GATE : 0) | (spec->has_terminal ? WIRE_SPAWN_TERMINAL : 0),
    };

    if (zygote_client_is_on_host(b->zygote) && (spec->net || spec->has_terminal))
        return error_set(err, E_UNSUPPORTED, "isolation `process` has no network and no terminals");
    if (open_init(b, &g.fds[0], err) < 0 ||
        box_open_kernel(&b->kernels[WIRE_KERNEL_PYTHON], &g.fds[1], err) < 0)
        return -1;
    if (overlays_new(spec->grants, spec->n_grants, &b->cow, err) < 0)
        return -1;
    if (make_cgroup(b, &spec->limits, err) < 0 || collect(b, spec, &message, &g, &hidden, err) < 0)
        return -1;
    b->init.extra_fds = 2 * overlays_count(b->cow) + (spec->net ? 1 : 0) + (b->broker ? 2 : 1);
    if (!zygote_client_is_on_host(b->zygote))
        b->init.extra_fds += 2; /* /tmp and the ptmx */
    if (zygote_client_spawn(b->zygote, &message, g.fds, g.count, err) < 0)
        return -1;
    make_cgroup_ahead(b, &spec->limits);
    return 0;
}

/* --- memory --- */

uint64_t box_memory(struct box *b)
{
    struct cgroup_usage usage = {0};
    struct monitor_usage seen;

    if (cgroup_host_kind(b->cgroups) != CGROUP_NONE)
        return cgroup_read(b->cgroup, CGROUP_PRESENT, &usage, NULL) < 0
                   ? 0
                   : usage.memory_bytes + b->outside;
    monitor_read(box_pid(b), &seen);
    return seen.private_bytes + files_used(&b->files);
}

void box_usage(struct box *b, struct box_usage *ret_usage)
{
    struct cgroup_usage counted = {0};
    struct monitor_usage seen = {0};
    uint64_t files = files_used(&b->files);

    if (cgroup_host_kind(b->cgroups) == CGROUP_NONE) {
        monitor_read(box_pid(b), &seen);
        counted.memory_bytes = seen.private_bytes + files;
        counted.cpu_ns = seen.cpu_ms * 1000000;
    } else if (cgroup_read(b->cgroup, CGROUP_PRESENT | CGROUP_CPU_TIME, &counted, NULL) == 0) {
        counted.memory_bytes += b->outside;
    }
    *ret_usage = (struct box_usage){counted.memory_bytes, files, counted.cpu_ns};
}

void box_sacrifice(struct box *b)
{
    if (b->terms && b->failure.code == E_NONE)
        error_set(&b->failure, E_TOO_LARGE,
                  "the server ran short of memory and ended this session, which used the most");
    if (b->cell.verdict == BOX_NO_VERDICT)
        b->cell.verdict = BOX_MEMORY;
    box_kill(b);
}

int box_new(struct loop *loop, struct zygote_client *zygote, struct cgroup_host *cgroups,
            const struct box_spec *spec, const struct box_events *events, void *owner,
            struct box **ret_box, struct error *err)
{
    struct box *b = calloc(1, sizeof(*b));

    if (!b)
        return error_memory(err);
    *b = (struct box){
        .loop = loop,
        .zygote = zygote,
        .cgroups = cgroups,
        .recorder = spec->recorder,
        .engine_masks = spec->masks,
        .engine_outside = spec->outside,
        .egress_settings = spec->egress,
        .events = events,
        .owner = owner,
        .limits = spec->limits,
        .net = net_ref(spec->net),
        .is_touched = spec->touch,
        .own_processes = spec->touch || zygote_client_has_stack(zygote) ? BOX_OWN_PROCESSES : 1,
        .stock = spec->stock,
        .pidfd = -1,
        .refusals_fd = -1,
        .input.fd = -1,
        .has_terminal = spec->has_terminal,
        .ptmx = -1,
        .refresh_fd = -1,
        .files.fd = -1,
        .init.fd = -1,
    };
    for (size_t i = 0; i < WIRE_KERNELS; i++)
        b->kernels[i] =
            (struct box_kernel){.box = b, .peer.fd = -1, .out = -1, .err = -1, .replies = -1};
    b->active = &b->kernels[WIRE_KERNEL_PYTHON];
    b->id = zygote_client_add(zygote, b);
    b->deadline = loop_timer(loop, box_on_deadline, b);
    b->tick = loop_timer(loop, box_on_tick, b);
    b->output_timer = loop_timer(loop, box_on_output_timer, b);
    if (!b->id || !b->deadline || !b->tick || !b->output_timer) {
        box_free(b);
        return error_memory(err);
    }
    if (make(b, spec, err) < 0) {
        box_free(b);
        return error_wrap(err, "make a sandbox");
    }
    loop_timer_start(b->deadline, LIMIT_MAKING_MS);
    *ret_box = b;
    return 0;
}

/* --- end --- */

void box_free(struct box *b)
{
    if (!b)
        return;
    (void)task_end(&b->text);
    if (b->zygote && b->id) {
        zygote_client_remove(b->zygote, b->id);
        zygote_client_remove_files(b->zygote, b->id);
    }
    box_drop_ports(b);
    box_close_gate(b);
    box_free_commands(b);
    free(b->gate.owner);
    net_unref(b->net);
    peer_done(&b->init);
    for (size_t i = 0; i < WIRE_KERNELS; i++)
        box_close_kernel(&b->kernels[i]);
    loop_work_cancel(&b->finishing);
    loop_work_cancel(&b->going);
    loop_watch_free(b->deadline);
    loop_watch_free(b->tick);
    loop_watch_free(b->output_timer);
    loop_watch_free(b->check_timer);
    loop_watch_free(b->pause_timer);
    box_refresh_end(b);
    input_pipe_close(&b->input);
    close_fd(&b->ptmx);
    close_fd(&b->pidfd);
    box_refused_calls_end(b);
    masker_free(b->masks[0]);
    masker_free(b->masks[1]);
    buf_done(&b->bash);
    files_list_done(&b->seen);
    files_close_bill(&b->files);
    files_done(&b->files);
    overlays_unref(b->cow);
    cgroup_discard(b->cgroup);
    for (size_t i = 0; i < BOX_IMAGE_GROUPS; i++)
        cgroup_discard(b->image_groups[i]);
    broker_client_free(b->broker);
    error_done(&b->failure);
    error_done(&b->files_error);
    free(b);
}

static void send_kill(struct box *b)
{
    if (b->pidfd >= 0)
        (void)syscall(SYS_pidfd_send_signal, b->pidfd, zygote_client_end_signal(b->zygote), NULL,
                      0);
}

void box_kill(struct box *b)
{
    b->state = BOX_ENDING;
    send_kill(b);
    loop_timer_start(b->deadline, KILL_PATIENCE_MS);
}

/* --- messages of pid 1 and of the zygote --- */

static void become_idle(struct box *b)
{
    if (b->state != BOX_MAKING || b->init.state != WIRE_STATE_READY ||
        b->kernels[WIRE_KERNEL_PYTHON].peer.state != WIRE_STATE_READY || b->pidfd < 0 ||
        (b->broker && !broker_client_is_ready(b->broker)))
        return;
    loop_timer_stop(b->deadline);
    b->state = BOX_IDLE;
    b->was_idle = true;
    b->events->on_idle(b->owner, b);
}

static void on_broker_ready(void *owner)
{
    become_idle(owner);
}

static void on_broker_begun(void *owner)
{
    box_session_on_begun(owner);
}

/* Before the sandbox stands it was not made; later its run, or session, cannot go on. */
static void on_broker_failed(void *owner, struct error *err)
{
    struct box *b = owner;

    if (b->failure.code == E_NONE)
        error_move(&b->failure, err);
    if (b->run)
        error_copy(&b->run->result.error, &b->failure);
    box_kill(b);
}

static int open_broker(struct box *b, struct error *err)
{
    int root, listener;

    if (!b->broker)
        return 0;
    root = frame_take_fd(&b->init.decoder);
    listener = frame_take_fd(&b->init.decoder);
    return broker_client_listen(b->broker, root, listener, err);
}

void box_kernel_is_waiting(struct box *b)
{
    become_idle(b);
}

void box_on_spawned(struct box *b, int pidfd)
{
    if (b->pidfd >= 0) { /* the zygote repeats itself */
        (void)close(pidfd);
        return;
    }
    b->pidfd = pidfd;
    if (b->state == BOX_ENDING)
        send_kill(b);
    become_idle(b);
}

void box_on_failed(struct box *b, const struct error *err)
{
    if (b->pidfd < 0)
        box_on_gone(b, err);
}

/* Its last word comes on another channel and may not have been read yet. */
static void leave(struct box *b)
{
    if (b->init.loop)
        peer_drain(&b->init);
    b->state = BOX_ENDING;
    box_copy_end(b);
}

/* The rest follows when the run is answered. */
static void go(void *arg)
{
    struct box *b = arg;

    if (box_is_busy(b)) {
        b->is_gone_due = true;
        return;
    }
    leave(b);
    if (!b->run) {
        box_on_gone(b, NULL);
        return;
    }
    b->is_gone_due = true;
    box_answer(b); /* the box may be freed from here on */
}

void box_on_gone_soon(struct box *b)
{
    if (b->run)
        loop_work_post(b->loop, &b->going, go, b);
    else
        box_on_gone(b, NULL);
}

void box_on_gone(struct box *b, const struct error *err)
{
    loop_work_cancel(&b->going);
    b->is_gone_due = false;
    if (b->cell.state != CELL_ANSWERING)
        (void)task_end(&b->text); /* the rest of a long message is lost */
    leave(b);
    if (b->run)
        box_answer_now(b);
    box_end_commands(b);
    box_drop_ports(b);
    box_close_gate(b);
    b->events->on_gone(b->owner, b, err ? err : b->failure.code != E_NONE ? &b->failure : NULL);
}

/* A box that has failed keeps its reason: what is told on the way to its end follows from it. */
static void on_sealed(struct box *b, struct unpack *u)
{
    if (b->failure.code != E_NONE || box_take_workspace(b, &b->failure) < 0 ||
        box_take_overlays(b, &b->failure) < 0 || box_open_gate(b, &b->failure) < 0 ||
        box_take_ptmx(b, &b->failure) < 0 || open_broker(b, &b->failure) < 0) {
        box_kill(b);
        return;
    }
    if (!b->broker)
        box_refused_calls_begin(b);
    b->layers = unpack_u32(u) & (RUN_LAYER_MACHINE - 1);
    if (cgroup_host_kind(b->cgroups) == CGROUP_V1)
        b->layers |= LAYER_CGROUP_V1;
    else if (cgroup_host_kind(b->cgroups) == CGROUP_V2)
        b->layers |= LAYER_CGROUP_V2;
    become_idle(b);
}

static void on_recipe_failed(struct box *b, struct unpack *u)
{
    struct wire_failure failure;

    if (b->failure.code == E_NONE && wire_unpack_failure(u, &failure)) {
        mask_error(b->engine_masks, &b->failure,
                   failure.code == E_UNSUPPORTED ? E_UNSUPPORTED : E_SYSTEM, failure.message,
                   failure.hint);
        b->failure.errnum = (int)failure.errnum;
        if (!failure.hint.len)
            error_hint(&b->failure, "run `belljar doctor` to see which layer this host lacks");
    }
    box_kill(b);
}

static void on_exited(struct box *b, struct unpack *u)
{
    struct wire_exited exited;

    if (!wire_unpack_exited(u, &exited))
        return;
    if (exited.process >= WIRE_KERNELS) {
        box_command_on_exited(b, exited.process - WIRE_KERNELS, &exited);
        return;
    }
    if (b->terms) {
        box_session_on_exited(&b->kernels[exited.process], &exited);
        return;
    }
    if (!b->run) {
        box_kill(b);
        return;
    }
    b->cell.exited = exited;
    box_enter(b, CELL_EXITED);
    box_finish(b);
}

static void on_init_message(void *owner, const struct frame *frame)
{
    struct box *b = owner;
    struct unpack u;

    unpack_init(&u, frame->body, frame->len);
    switch (frame->type) {
    case WIRE_SEALED:
        on_sealed(b, &u);
        break;
    case WIRE_FAILED:
        on_recipe_failed(b, &u);
        break;
    case WIRE_SIGNALLED:
        box_session_on_signalled(b);
        break;
    case WIRE_EXITED:
        on_exited(b, &u);
        break;
    case WIRE_CONNECTED:
        if (!box_on_connected(b, &u))
            box_kill(b);
        break;
    default:
        break;
    }
}

static void on_init_end(void *owner, const char *why)
{
    struct box *b = owner;

    /* Pid 1 is ours and beyond the program's reach; that it speaks out of turn means memory of ours
     * is not. */
    if (why && b->state != BOX_ENDING)
        box_end_run(b, BOX_BROKEN);
}

const struct peer_events box_init_events = {
    .on_message = on_init_message, .on_end = on_init_end, .is_busy = box_is_init_busy};

/* --- the clock --- */

void box_on_deadline(void *arg)
{
    struct box *b = arg;

    if (b->state == BOX_RUNNING && b->terms && b->cell.verdict != BOX_NO_VERDICT) {
        box_session_on_deadline(b);
        return;
    }
    if (b->state == BOX_RUNNING && b->cell.verdict == BOX_NO_VERDICT && box_has_more_time(b))
        return;
    if (b->state == BOX_RUNNING) {
        box_end_run(b, BOX_TIMEOUT);
        return;
    }
    if (b->state == BOX_COPYING) {
        box_copy_on_trouble(b, "it takes too long");
        return;
    }
    if (b->state == BOX_MAKING) {
        error_set(&b->failure, E_SYSTEM, "the sandbox was not ready within %d s",
                  LIMIT_MAKING_MS / 1000);
        error_hint(&b->failure, "the host is overloaded, or a mount hangs: run `belljar doctor`");
        box_kill(b);
        return;
    }
    if (b->is_given_up) { /* not even that helped: nobody waits for it any longer */
        box_on_gone(b, NULL);
        return;
    }
    b->is_given_up = true;
    loop_timer_start(b->deadline, GIVE_UP_MS);
    /* Killed, and still not reported gone: the second way to kill, then answer all the same. */
    if (b->cgroup &&
        !zygote_client_is_on_host(b->zygote)) /* there the first process must not die */
        cgroup_kill(b->cgroup);
    send_kill(b);
    if (b->run)
        box_answer(b);
}

void box_end_run(struct box *b, enum box_verdict verdict)
{
    if (b->cell.verdict == BOX_NO_VERDICT)
        b->cell.verdict = verdict;
    /* Nobody waits for the text, or has time for it. */
    if (b->cell.verdict == BOX_CANCELLED || b->cell.verdict == BOX_WORK)
        task_cancel(&b->text);
    if (b->cell.state == CELL_ANSWERING && box_is_busy(b))
        return;
    if (b->terms && b->state == BOX_RUNNING)
        box_session_stop_cell(b, verdict);
    else
        box_kill(b);
}

void box_cancel(struct box *b)
{
    if (b->run)
        box_end_run(b, BOX_CANCELLED);
}

enum box_state box_state(const struct box *b)
{
    return b->state;
}

struct zygote_client *box_zygote(const struct box *b)
{
    return b->zygote;
}

bool box_is_touched(const struct box *b)
{
    return b->is_touched;
}

unsigned box_stock(const struct box *b)
{
    return b->stock;
}

struct run *box_run(const struct box *b)
{
    return b->run;
}

pid_t box_pid(const struct box *b)
{
    return b->pidfd >= 0 ? monitor_pid(b->pidfd) : -1;
}

void box_reserve(struct box *b, struct pool_order *order)
{
    b->reserved = order;
}

struct pool_order *box_reserved(const struct box *b)
{
    return b->reserved;
}

bool box_was_idle(const struct box *b)
{
    return b->was_idle;
}
