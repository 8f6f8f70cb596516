#include "engine/zygote_client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "engine/box.h"
#include "engine/masking.h"
#include "engine/peer.h"
#include "sandbox/process_place.h"

#define SLOT_BITS 32

/* Time that zygote_client_free() waits for a killed process: it is gone in milliseconds unless
 * Linux itself hangs, and then it does not help if we hang as well. */
#define END_PATIENCE_MS 10000

#define RETRY_MS 100

#define STEADY_LIBRARY "belljar-steady.so"

#define DOCTOR_HINT "run `belljar doctor` to see what this host allows"

struct slot {
    struct box *box; /* NULL: free */
    uint32_t generation;
    uint32_t next_free;
};

struct zygote_client {
    struct loop *loop;
    struct masks *masks;
    struct peer peer;
    struct ns_child child;
    struct ns_ids ids;
    struct wire_policies policies; /* that it has read in advance */
    const struct zygote_events *events;
    void *owner;
    struct loop_watch *end_timer;  /* puts the end outside of our own calls */
    struct loop_watch *warm_timer; /* runs until it is ready */
    struct loop_watch *exit_watch; /* of the pidfd, once it was killed */
    struct error end;              /* why it has to end; E_NONE: it is well */

    struct slot *slots;
    size_t n_slots;
    uint32_t first_free; /* index + 1; 0: none */
    size_t n_boxes;

    uint64_t spawned;
    uint64_t started_ns;
    char version[PYTHON_VERSION_TEXT]; /* wanted */
    char *python_version;              /* as it says itself */
    char *missing[WIRE_STRINGS_MAX];
    size_t n_missing;
    LIST_HEAD(, zygote_pin) pins;
    bool is_ending;
    bool is_on_host; /* the level `process` */
    bool has_stack;
    const char *directory; /* then: where its sandboxes have their files */
};

/* --- the table of sandboxes: a slot's number and generation make the id --- */

static struct box *find(struct zygote_client *z, uint64_t id)
{
    uint32_t index = (uint32_t)id;

    if (index >= z->n_slots || z->slots[index].generation != (uint32_t)(id >> SLOT_BITS))
        return NULL;
    return z->slots[index].box;
}

uint64_t zygote_client_add(struct zygote_client *z, struct box *box)
{
    uint32_t index;

    if (z->first_free) {
        index = z->first_free - 1;
        z->first_free = z->slots[index].next_free;
    } else {
        struct slot *grown = realloc(z->slots, (z->n_slots + 1) * sizeof(*grown));

        if (!grown)
            return 0;
        z->slots = grown;
        index = (uint32_t)z->n_slots++;
        z->slots[index] = (struct slot){0};
    }
    z->slots[index].box = box;
    z->slots[index].generation++;
    z->n_boxes++;
    return (uint64_t)z->slots[index].generation << SLOT_BITS | index;
}

void zygote_client_remove(struct zygote_client *z, uint64_t id)
{
    uint32_t index = (uint32_t)id;

    if (!find(z, id))
        return;
    z->slots[index].box = NULL;
    z->slots[index].next_free = z->first_free;
    z->first_free = index + 1;
    z->n_boxes--;
}

/* --- messages --- */

static void fail(struct zygote_client *z, struct error *err)
{
    if (z->end.code == E_NONE)
        error_move(&z->end, err);
    else
        error_done(err);
    zygote_client_end(z);
}

/* The last message of the process is its exit status. */
static void reap(struct zygote_client *z)
{
    siginfo_t info = {0};
    const char *reason;

    /* Fails where whoever started us ignores SIGCHLD: Linux has reaped it by itself. */
    if (waitid(P_PIDFD, (id_t)z->child.pidfd, &info, WEXITED | WNOHANG) == 0 && !info.si_pid)
        return;
    z->child.pid = -1;
    reason = info.si_code == CLD_EXITED ? ns_exit_reason(info.si_status) : NULL;
    if (reason && z->end.code != E_NONE) {
        error_done(&z->end);
        error_set(&z->end, E_SYSTEM, "%s", reason);
        if (info.si_status == NS_EXIT_LOADER)
            error_hint(&z->end, "install the library of Python: `apt install libpython%s`",
                       z->version);
        else
            error_hint(&z->end, DOCTOR_HINT);
    }
}

/* It also goes when its socket does, where signals are not to be had. */
static void send_kill(struct zygote_client *z)
{
    peer_done(&z->peer);
    if (z->child.pid > 0)
        (void)kill(z->child.pid, zygote_client_end_signal(z));
}

static void on_process_end(void *arg)
{
    struct zygote_client *z = arg;

    loop_watch_free(z->exit_watch);
    z->exit_watch = NULL;
    reap(z);
    if (z->child.pid > 0) { /* a debugger has the first word */
        loop_timer_start(z->end_timer, RETRY_MS);
        return;
    }
    z->events->on_end(z->owner, z, z->end.code != E_NONE ? &z->end : NULL);
}

/* Its pid namespace goes with it: when the pidfd reports its end, no process of any of its
 * sandboxes exists. Until then they count, and so do their cgroups. */
static void on_end_timer(void *arg)
{
    struct zygote_client *z = arg;

    send_kill(z);
    if (!z->exit_watch)
        z->exit_watch = loop_watch_fd(z->loop, z->child.pidfd, LOOP_READ, on_process_end, z);
    if (!z->exit_watch) /* out of memory */
        loop_timer_start(z->end_timer, RETRY_MS);
}

static void on_warm_timer(void *arg)
{
    struct error err = {0};

    error_set(&err, E_SYSTEM, "the zygote was not ready within %d s", LIMIT_ZYGOTE_MS / 1000);
    error_hint(&err, "an import of the environment hangs; shorten `preload`");
    fail(arg, &err);
}

static void failure_to_error(struct masks *masks, const struct wire_failure *failure,
                             struct error *err)
{
    enum error_code code = failure->code > E_NONE && failure->code <= E_INTERNAL
                               ? (enum error_code)failure->code
                               : E_SYSTEM;

    mask_error(masks, err, code, failure->message, failure->hint);
    err->errnum = (int)failure->errnum;
}

static bool keep_ready(struct zygote_client *z, const struct wire_ready *ready)
{
    z->python_version = span_dup(ready->python_version);
    for (uint32_t i = 0; i < ready->missing.count; i++) {
        char *text = span_dup(ready->missing.items[i]);

        if (text)
            z->missing[z->n_missing++] = text;
    }
    return z->python_version != NULL;
}

static bool take_ready(struct zygote_client *z, struct unpack *u)
{
    cleanup_free struct wire_ready *ready = malloc(sizeof(*ready));

    loop_timer_stop(z->warm_timer);
    if (!ready || !wire_unpack_ready(u, ready) || !keep_ready(z, ready))
        return false;
    z->events->on_ready(z->owner, z);
    return true;
}

/* Those about a box come when it may be gone already. */
static bool take_spawned(struct zygote_client *z, struct unpack *u)
{
    struct box *box = find(z, unpack_u64(u));
    cleanup_close int pidfd = frame_take_fd(&z->peer.decoder);

    if (!unpack_ok(u) || pidfd < 0)
        return false;
    if (box)
        box_on_spawned(box, take_fd(pidfd));
    return true;
}

static bool take_spawn_failed(struct zygote_client *z, struct unpack *u)
{
    struct box *box = find(z, unpack_u64(u));
    cleanup_error struct error err = {0};
    struct wire_failure failure;

    if (!wire_unpack_failure(u, &failure))
        return false;
    if (box) {
        failure_to_error(z->masks, &failure, &err);
        box_on_failed(box, &err);
    }
    return true;
}

static bool take_gone(struct zygote_client *z, struct unpack *u)
{
    struct box *box = find(z, unpack_u64(u));

    (void)unpack_u32(u);
    if (!unpack_ok(u))
        return false;
    if (box)
        box_on_gone_soon(box);
    return true;
}

static bool take_failed(struct zygote_client *z, struct unpack *u)
{
    struct wire_failure failure;
    struct error err = {0};

    if (!wire_unpack_failure(u, &failure))
        return false;
    failure_to_error(z->masks, &failure, &err);
    fail(z, &err);
    return true;
}

static bool (*const takers[WIRE_TYPE_END])(struct zygote_client *z, struct unpack *u) = {
    [WIRE_READY] = take_ready,
    [WIRE_SPAWNED] = take_spawned,
    [WIRE_SPAWN_FAILED] = take_spawn_failed,
    [WIRE_GONE] = take_gone,
    [WIRE_FAILED] = take_failed,
};

static void on_message(void *owner, const struct frame *frame)
{
    struct zygote_client *z = owner;
    struct error err = {0};
    struct unpack u;

    unpack_init(&u, frame->body, frame->len);
    if (takers[frame->type] && takers[frame->type](z, &u))
        return;
    error_set(&err, E_PROTOCOL, "the zygote sent a malformed message");
    fail(z, &err);
}

static void on_end(void *owner, const char *why)
{
    struct zygote_client *z = owner;
    struct error err = {0};

    if (why) {
        error_set(&err, E_PROTOCOL, "the zygote sent an unexpected `%s`", why);
    } else { /* its exit status, which comes later, may say more */
        error_set(&err, E_SYSTEM, "the zygote died");
        error_hint(&err, DOCTOR_HINT);
    }
    fail(z, &err);
}

static const struct peer_events peer_events = {on_message, on_end};

/* --- life --- */

static int fill(struct wire_strings *list, char **items, size_t count, struct error *err)
{
    if (count > WIRE_STRINGS_MAX)
        return error_set(err, E_TOO_LARGE, "more than %d names in a list", WIRE_STRINGS_MAX);
    for (size_t i = 0; i < count; i++)
        list->items[i] = span_of(items[i]);
    list->count = (uint32_t)count;
    return 0;
}

static int send_setup(struct zygote_client *z, const struct environment *e, struct error *err)
{
    struct wire_setup *setup = calloc(1, sizeof(*setup));
    struct pack p;
    int r = -1;

    if (!setup)
        return error_memory(err);
    setup->python = span_of(e->python);
    setup->warm = e->warm;
    setup->steady = e->steady;
    setup->directory = span_of(z->directory ? z->directory : "");
    setup->policies = z->policies = e->policies;
    pack_init(&p, wire_type_max(WIRE_SETUP));
    if (fill(&setup->preload, e->preload, e->n_preload, err) == 0 &&
        fill(&setup->binds, e->binds, e->n_binds, err) == 0 &&
        fill(&setup->modules, e->modules.items, e->modules.count, err) == 0 &&
        fill(&setup->paths, e->paths, e->n_paths, err) == 0 &&
        fill(&setup->variables, e->variables.items, e->variables.count, err) == 0) {
        wire_pack_setup(&p, setup);
        r = peer_send(&z->peer, WIRE_SETUP, &p, NULL, 0, err);
    }
    pack_done(&p);
    free(setup);
    return r;
}

static char *library_beside(const char *program)
{
    const char *slash = strrchr(program, '/');
    char *path = NULL;

    if (asprintf(&path, "%.*s" STEADY_LIBRARY, slash ? (int)(slash - program + 1) : 0, program) < 0)
        return NULL;
    return path;
}

uint32_t zygote_client_knows_policy(const struct zygote_client *z, struct span policy)
{
    for (uint32_t i = 0; i < z->policies.count; i++)
        if (z->policies.items[i].len == policy.len &&
            memcmp(z->policies.items[i].data, policy.data, policy.len) == 0)
            return i + 1;
    return 0;
}

/* The process, and our end of its socket. */
static int start_process(struct zygote_client *z, const struct environment *environment,
                         struct error *err)
{
    cleanup_free char *steady = environment->steady ? library_beside(environment->program) : NULL;
    struct ns_program what = {.path = environment->program,
                              .has_network = !environment->warm,
                              .is_on_host = z->is_on_host,
                              .steady = steady};
    int pair[2], r;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return error_errno(err, "socketpair");
    r = ns_spawn_zygote(&what, pair[1], &z->ids, &z->child, err);
    (void)close(pair[1]);
    (void)fcntl(pair[0], F_SETFL, O_NONBLOCK); /* our end only: the zygote's blocks */
    if (peer_init(&z->peer, z->loop, pair[0], pair[0], WIRE_CHANNEL_ZYGOTE, &peer_events, z, err) <
        0)
        return -1;
    return r;
}

static int open_place(struct zygote_client *z, const struct environment *environment,
                      struct error *err)
{
    if (environment->steady) {
        error_set(err, E_UNSUPPORTED, "isolation `process` has no runs with a seed");
        return error_hint(err, "leave the seed out");
    }
    z->ids.count = 1; /* one user for all */
    z->is_on_host = true;
    return process_place_open(&z->ids, &z->directory, err);
}

static int start(struct zygote_client *z, const struct environment *environment, struct error *err)
{
    z->end_timer = loop_timer(z->loop, on_end_timer, z);
    z->warm_timer = loop_timer(z->loop, on_warm_timer, z);
    if (!z->end_timer || !z->warm_timer)
        return error_memory(err);
    if (ns_pick_ids(&z->ids, err) < 0 ||
        (environment->is_on_host && open_place(z, environment, err) < 0) ||
        start_process(z, environment, err) < 0)
        return -1;
    if (send_setup(z, environment, err) < 0) {
        if (!err || err->errnum != EPIPE)
            return -1;
        error_done(err); /* gone before it was spoken to: its end will say why */
    }
    loop_timer_start(z->warm_timer, LIMIT_ZYGOTE_MS);
    return 0;
}

int zygote_client_new(struct loop *loop, struct masks *masks, const struct environment *environment,
                      const struct zygote_events *events, void *owner,
                      struct zygote_client **ret_zygote, struct error *err)
{
    struct zygote_client *z = calloc(1, sizeof(*z));

    if (!z)
        return error_memory(err);
    *z = (struct zygote_client){.loop = loop,
                                .masks = masks,
                                .events = events,
                                .owner = owner,
                                .peer.fd = -1,
                                .child = {-1, -1},
                                .started_ns = loop_now_ns(),
                                .has_stack = environment->warm && environment->n_preload > 0};
    memcpy(z->version, environment->version, sizeof(z->version));
    if (start(z, environment, err) < 0) {
        zygote_client_free(z);
        return error_wrap(err, "start the zygote");
    }
    *ret_zygote = z;
    return 0;
}

void zygote_client_end(struct zygote_client *z)
{
    if (!z->is_ending)
        loop_timer_start(z->end_timer, 0);
    z->is_ending = true;
}

void zygote_client_wait(struct zygote_client *z)
{
    struct pollfd p = {.fd = z->child.pidfd, .events = POLLIN};
    uint64_t until = loop_now_ns() + END_PATIENCE_MS * UINT64_C(1000000);

    send_kill(z);
    while (z->child.pid > 0 && loop_now_ns() < until)
        if (poll(&p, 1, RETRY_MS) > 0) {
            reap(z);
            if (z->child.pid > 0) /* a debugger has the first word */
                (void)poll(NULL, 0, RETRY_MS);
        }
}

void zygote_client_free(struct zygote_client *z)
{
    if (!z)
        return;
    while (!LIST_EMPTY(&z->pins))
        zygote_client_unpin(LIST_FIRST(&z->pins));
    loop_watch_free(z->exit_watch);
    zygote_client_wait(z);
    close_fd(&z->child.pidfd);
    loop_watch_free(z->end_timer);
    loop_watch_free(z->warm_timer);
    for (size_t i = 0; i < z->n_missing; i++)
        free(z->missing[i]);
    if (z->directory)
        process_place_close();
    free(z->python_version);
    free(z->slots);
    error_done(&z->end);
    free(z);
}

struct box *zygote_client_any_box(const struct zygote_client *z)
{
    for (size_t i = 0; z->n_boxes && i < z->n_slots; i++)
        if (z->slots[i].box)
            return z->slots[i].box;
    return NULL;
}

void zygote_client_each_box(const struct zygote_client *z, void (*fn)(void *user, struct box *box),
                            void *user)
{
    for (size_t i = 0; z && i < z->n_slots; i++)
        if (z->slots[i].box)
            fn(user, z->slots[i].box);
}

int zygote_client_spawn(struct zygote_client *z, const struct wire_spawn *spec, const int *fds,
                        size_t n_fds, struct error *err)
{
    struct pack p;
    int r;

    pack_init(&p, wire_type_max(WIRE_SPAWN));
    wire_pack_spawn(&p, spec);
    r = peer_send(&z->peer, WIRE_SPAWN, &p, fds, n_fds, err);
    pack_done(&p);
    if (r == 0)
        z->spawned++;
    return r;
}

bool zygote_client_has_stack(const struct zygote_client *z)
{
    return z->has_stack;
}

bool zygote_client_is_on_host(const struct zygote_client *z)
{
    return z->is_on_host;
}

/* Without a pid namespace a process that is killed leaves its children behind. */
int zygote_client_end_signal(const struct zygote_client *z)
{
    return z->is_on_host ? SIGTERM : SIGKILL;
}

void zygote_client_remove_files(struct zygote_client *z, uint64_t id)
{
    struct pack p;

    if (!z->is_on_host || z->is_ending || z->peer.fd < 0)
        return; /* they go with all others */
    pack_init(&p, wire_type_max(WIRE_REMOVE));
    pack_u64(&p, id);
    (void)peer_send(&z->peer, WIRE_REMOVE, &p, NULL, 0, NULL);
    pack_done(&p);
}

bool zygote_client_is_ready(const struct zygote_client *z)
{
    return z->peer.state == WIRE_STATE_READY && !z->is_ending;
}

bool zygote_client_is_ending(const struct zygote_client *z)
{
    return z->is_ending;
}

const struct ns_ids *zygote_client_ids(const struct zygote_client *z)
{
    return &z->ids;
}

const char *zygote_client_python_version(const struct zygote_client *z)
{
    return z->python_version;
}

const char *const *zygote_client_missing(const struct zygote_client *z, size_t *ret_count)
{
    *ret_count = z->n_missing;
    return (const char *const *)z->missing;
}

size_t zygote_client_boxes(const struct zygote_client *z)
{
    return z->n_boxes;
}

void zygote_client_pin(struct zygote_client *z, struct zygote_pin *pin)
{
    pin->zygote = z;
    LIST_INSERT_HEAD(&z->pins, pin, link);
}

void zygote_client_unpin(struct zygote_pin *pin)
{
    if (pin->zygote)
        LIST_REMOVE(pin, link);
    pin->zygote = NULL;
}

bool zygote_client_is_needed(const struct zygote_client *z)
{
    return z->n_boxes > 0 || !LIST_EMPTY(&z->pins);
}

uint64_t zygote_client_spawned(const struct zygote_client *z)
{
    return z->spawned;
}

uint64_t zygote_client_started_ns(const struct zygote_client *z)
{
    return z->started_ns;
}

pid_t zygote_client_pid(const struct zygote_client *z)
{
    return z->child.pid;
}
