#include "engine/broker_client.h"
#include "base/child.h"
#include "base/id.h"
#include "engine/masking.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/paths.h"
#include "broker/broker.h"
#include "sandbox/grant.h"
#include "sandbox/ns.h"
#include "sandbox/protected.h"
#include "sandbox/tree_lock.h"
#include "undo/store.h"
#include "wire/fds.h"
#include "wire/pack.h"

/* Time for a broker to end after its sandbox: it may be copying a large file. */
#define END_PATIENCE_MS 10000

/* Old changes are removed with the first run, and then once in so many. */
#define RUNS_PER_PRUNING 64

struct brokers {
    struct loop *loop;
    struct masks *masks;
    const struct config *config;
    char *program;
    char *lock;                   /* the file with the locks of all brokers of this user */
    struct broker_client *ending; /* let go, and not gone yet */
    unsigned n_runs;              /* whose changes were kept */
};

struct broker_client {
    struct brokers *brokers;
    struct broker_client *next; /* among those that are ending */
    const struct broker_events *events;
    void *owner;
    pid_t pid;
    int pidfd;
    int control;
    struct loop_watch *watch;      /* of the control socket */
    struct loop_watch *exit_watch; /* of the pidfd, once it was let go */
    struct broker_report *report;
    struct run_grant grants[LIMIT_GRANTS]; /* copies; the run they came with may be gone */
    size_t n_grants;
    uint32_t uid, gid;
    int journal;       /* the directory of the present run's changes; -1: they are not kept */
    char run[ID_SIZE]; /* its id */
    uint64_t number;   /* of the present run, from 1 on */
    uint64_t begun;    /* the one that the broker knows of */
    bool is_ready;
    bool has_run; /* since broker_client_begin(), until broker_client_end() */
};

struct brokers *brokers_new(struct loop *loop, struct masks *masks, const struct config *config,
                            struct error *err)
{
    struct brokers *brokers = calloc(1, sizeof(*brokers));

    if (!brokers) {
        error_memory(err);
        return NULL;
    }
    brokers->loop = loop;
    brokers->masks = masks;
    brokers->config = config;
    brokers->program = paths_program("belljar-broker", err);
    if (!brokers->program) {
        brokers_free(brokers);
        return NULL;
    }
    return brokers;
}

/* --- changes that are kept --- */

/* The broker's report on the present run. A broker that does not know the run yet has done nothing
 * in it.
 */
static const struct broker_report *report_of(const struct broker_client *c)
{
    static const struct broker_report nothing;

    return __atomic_load_n(&c->report->run, __ATOMIC_ACQUIRE) == c->number ? c->report : &nothing;
}

/* The broker closes the journal now, or has done so. */
static void end_journal(struct broker_client *c)
{
    const struct broker_report *report = report_of(c);
    struct journal_counts counts = {
        .created = report->created,
        .changed = report->changed,
        .removed = report->removed,
        .renamed = report->renamed,
    };

    if (c->journal >= 0)
        undo_store_end(take_fd(c->journal), c->run, &counts);
}

/* --- the end of one --- */

static void forget(struct broker_client *c)
{
    struct broker_client **at = &c->brokers->ending;

    while (*at && *at != c)
        at = &(*at)->next;
    if (*at)
        *at = c->next;
    loop_watch_free(c->watch);
    loop_watch_free(c->exit_watch);
    close_fd(&c->control);
    close_fd(&c->pidfd);
    if (c->report)
        (void)munmap(c->report, sizeof(*c->report));
    for (size_t i = 0; i < c->n_grants; i++)
        grant_done(&c->grants[i]);
    free(c);
}

static void reap(const struct broker_client *c)
{
    while (c->pid > 0 && waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

static void on_exit_of(void *arg)
{
    struct broker_client *c = arg;

    reap(c);
    forget(c);
}

void broker_client_free(struct broker_client *c)
{
    if (!c)
        return;
    if (c->report)
        end_journal(c);
    loop_watch_free(take_ptr(c->watch));
    close_fd(&c->control);
    c->next = c->brokers->ending;
    c->brokers->ending = c;
    c->exit_watch =
        c->pidfd < 0 ? NULL : loop_watch_fd(c->brokers->loop, c->pidfd, LOOP_READ, on_exit_of, c);
    if (!c->exit_watch)
        on_exit_of(c);
}

void brokers_free(struct brokers *brokers)
{
    if (!brokers)
        return;
    while (brokers->ending) {
        struct broker_client *c = brokers->ending;
        struct pollfd gone = {.fd = c->pidfd, .events = POLLIN};

        if (poll(&gone, 1, END_PATIENCE_MS) == 0)
            (void)kill(c->pid, SIGKILL);
        on_exit_of(c);
    }
    free(brokers->program);
    free(brokers->lock);
    free(brokers);
}

/* --- messages --- */

/* A broker that ends with something of ours unread resets the connection, which is reported before
 * its last words are. */
static ssize_t receive(const struct broker_client *c, char *data, size_t size)
{
    ssize_t n = recv(c->control, data, size, MSG_DONTWAIT);

    return n < 0 && errno == ECONNRESET ? recv(c->control, data, size, MSG_DONTWAIT) : n;
}

static void read_failure(struct masks *masks, struct unpack *u, struct error *err)
{
    uint32_t code = unpack_u32(u);
    struct span message = unpack_span(u), hint = unpack_span(u);

    mask_error(masks, err, code > E_NONE && code <= E_INTERNAL ? (enum error_code)code : E_INTERNAL,
               message, hint);
}

/* Why nothing could be sent: what a broker that has ended said last, or the error. */
static int explain(const struct broker_client *c, struct error *err)
{
    int cause = errno;
    char data[16384];
    struct unpack u;
    ssize_t n;

    while ((cause == EPIPE || cause == ECONNRESET) && (n = receive(c, data, sizeof(data))) > 0) {
        unpack_init(&u, data, (size_t)n);
        if (unpack_u8(&u) == BROKER_FAILED) {
            read_failure(c->brokers->masks, &u, err);
            return -1;
        }
    }
    /* Without its number: a broken pipe means to the pool that the zygote has ended. */
    return error_set(err, E_SYSTEM, "speak to the write broker: %s", strerror(cause));
}

static int send_message(const struct broker_client *c, struct pack *p, const int *fds, size_t n_fds,
                        struct error *err)
{
    char control[FDS_SPACE(BROKER_FDS_MAX)];
    struct iovec iov = {p->data, p->len};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    int r = 0;

    if (n_fds)
        fds_put(&msg, control, fds, n_fds);
    if (p->failed)
        r = error_memory(err);
    else if (sendmsg(c->control, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        r = explain(c, err);
    pack_done(p);
    return r;
}

static void start_message(struct pack *p, enum broker_message type)
{
    pack_init(p, BROKER_MESSAGE_MAX);
    pack_u8(p, (uint8_t)type);
}

static void fail(struct broker_client *c, struct error *err)
{
    loop_watch_free(take_ptr(c->watch));
    c->events->on_failed(c->owner, err);
    error_done(err);
}

static void on_message(void *arg)
{
    struct broker_client *c = arg;
    char data[16384];
    ssize_t n = receive(c, data, sizeof(data));
    struct error err = {0};
    struct unpack u;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    unpack_init(&u, data, n > 0 ? (size_t)n : 0);
    switch (n > 0 ? unpack_u8(&u) : 0) {
    case BROKER_READY:
        c->is_ready = true;
        c->events->on_ready(c->owner);
        return;
    case BROKER_BEGUN:
        c->begun = unpack_u64(&u);
        c->events->on_begun(c->owner);
        return;
    case BROKER_FAILED:
        read_failure(c->brokers->masks, &u, &err);
        break;
    default:
        error_set(&err, E_SYSTEM, "the write broker ended");
        error_hint(&err, "nothing can be written without it; run the program again");
        break;
    }
    fail(c, &err);
}

/* --- the beginning --- */

struct start {
    char *argv[2];
    int control;
    char *environment[3]; /* where the user's settings are, whose links may lead into a grant */
};

/* In the child, which shares our memory until it executes: nothing is allocated or kept. It has no
 * arrays of its own, either: it never returns, and the address checker would keep them marked. */
static int become_broker(void *arg)
{
    const struct start *start = arg;
    int control = fcntl(start->control, F_DUPFD, 16);
    int null = open("/dev/null", O_RDWR);

    child_reset_signals();
    if (control < 0 || null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 ||
        dup2(control, BROKER_CONTROL_FD) < 0 || chdir("/") < 0 ||
        syscall(SYS_close_range, BROKER_CONTROL_FD + 1U, ~0U, 0U) < 0)
        return 1;
    (void)execve(start->argv[0], start->argv, start->environment);
    return 1;
}

static void add_variable(struct start *start, size_t at, const char *name)
{
    const char *value = getenv(name);

    if (value && asprintf(&start->environment[at], "%s=%s", name, value) < 0)
        start->environment[at] = NULL;
}

static int start_process(struct broker_client *c, struct error *err)
{
    struct start start = {.argv = {(char *)c->brokers->program}};
    int pair[2];

    if (access(c->brokers->program, X_OK) < 0) {
        (void)error_errno(err, "start `%s`", c->brokers->program);
        return error_hint(err, "it is installed with belljar: install Belljar again");
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return error_errno(err, "socketpair");
    c->control = pair[0];
    start.control = pair[1];
    add_variable(&start, 0, "HOME");
    add_variable(&start, start.environment[0] ? 1 : 0, "XDG_CONFIG_HOME");
    c->pid = child_vfork(0, become_broker, &start);
    free(start.environment[0]);
    free(start.environment[1]);
    (void)close(pair[1]);
    if (c->pid < 0)
        return error_errno(err, "start the write broker");
    c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
    if (c->pidfd < 0)
        return error_errno(err, "hold the write broker");
    return 0;
}

static int open_report(struct broker_client *c, int *ret_fd, struct error *err)
{
    cleanup_close int fd = (int)syscall(SYS_memfd_create, "belljar-report", MFD_CLOEXEC);

    if (fd < 0 || ftruncate(fd, sizeof(*c->report)) < 0)
        return error_errno(err, "make room for the report of the write broker");
    c->report = mmap(NULL, sizeof(*c->report), PROT_READ, MAP_SHARED, fd, 0);
    if (c->report == MAP_FAILED) {
        c->report = NULL;
        return error_errno(err, "map the report of the write broker");
    }
    *ret_fd = take_fd(fd);
    return 0;
}

/* Two brokers may have the same directory, or one below the other's. The directories above a grant
 * are looked for here: the broker may not have the right to. */
static int open_lock(struct brokers *brokers, const struct broker_spec *spec,
                     struct tree_lock *ret_lock, struct error *err)
{
    int roots[LIMIT_GRANTS];

    if (!brokers->lock)
        brokers->lock = paths_state("broker.lock", err);
    if (!brokers->lock)
        return -1;
    for (size_t i = 0; i < spec->n_grants; i++)
        roots[i] = spec->writable[i] >= 0 ? spec->grants[i].fd : -1;
    return tree_lock_open(brokers->lock, roots, spec->n_grants, ret_lock, err);
}

static void pack_own_places(struct pack *p)
{
    uint32_t count = 0;

    while (protected_own(count))
        count++;
    pack_u32(p, count);
    for (uint32_t i = 0; i < count; i++) {
        pack_str(p, protected_own(i));
        pack_u32(p, protected_is_hidden(i));
    }
}

static void pack_lock_keys(struct pack *p, const struct tree_lock *lock)
{
    pack_u32(p, (uint32_t)lock->n_keys);
    for (size_t i = 0; i < lock->n_keys; i++) {
        pack_u64(p, lock->keys[i].at);
        pack_u32(p, lock->keys[i].is_root);
    }
}

static int send_setup(struct broker_client *c, const struct broker_spec *spec, struct error *err)
{
    cleanup(tree_lock_close) struct tree_lock lock = TREE_LOCK_INIT;
    cleanup_close int report = -1;
    int fds[BROKER_FDS_MAX];
    size_t n_fds = 3;
    struct pack p;

    if (open_report(c, &report, err) < 0 || open_lock(c->brokers, spec, &lock, err) < 0)
        return -1;
    fds[0] = report;
    fds[1] = lock.fd;
    fds[2] = lock.marks;
    start_message(&p, BROKER_SETUP);
    pack_u32(&p, spec->uid);
    pack_u32(&p, spec->gid);
    pack_u32(&p, (uint32_t)spec->n_grants);
    for (size_t i = 0; i < spec->n_grants; i++) {
        pack_str(&p, spec->grants[i].path);
        pack_u32(&p, spec->writable[i] >= 0);
        if (spec->writable[i] >= 0)
            fds[n_fds++] = spec->writable[i];
    }
    pack_own_places(&p);
    pack_lock_keys(&p, &lock);
    return send_message(c, &p, fds, n_fds, err);
}

static int start(struct broker_client *c, const struct broker_spec *spec, struct error *err)
{
    if (start_process(c, err) < 0 || send_setup(c, spec, err) < 0)
        return -1;
    c->watch = loop_watch_fd(c->brokers->loop, c->control, LOOP_READ, on_message, c);
    return c->watch ? 0 : error_memory(err);
}

static int copy_grants(struct broker_client *c, const struct broker_spec *spec, struct error *err)
{
    for (size_t i = 0; i < spec->n_grants; i++) {
        struct run_grant *copy = &c->grants[c->n_grants++];

        *copy = (struct run_grant){.path = strdup(spec->grants[i].path),
                                   .fd = fcntl(spec->grants[i].fd, F_DUPFD_CLOEXEC, 3),
                                   .mode = spec->grants[i].mode};
        if (!copy->path || copy->fd < 0)
            return error_errno(err, "keep `%s`", spec->grants[i].path);
    }
    return 0;
}

int broker_client_new(struct brokers *brokers, const struct broker_spec *spec,
                      const struct broker_events *events, void *owner,
                      struct broker_client **ret_client, struct error *err)
{
    struct broker_client *c = calloc(1, sizeof(*c));

    if (!c)
        return error_memory(err);
    *c = (struct broker_client){.brokers = brokers,
                                .events = events,
                                .owner = owner,
                                .uid = spec->uid,
                                .gid = spec->gid,
                                .pidfd = -1,
                                .control = -1,
                                .journal = -1};
    if (copy_grants(c, spec, err) < 0 || start(c, spec, err) < 0) {
        broker_client_free(c);
        return -1;
    }
    *ret_client = c;
    return 0;
}

bool broker_client_has_begun(const struct broker_client *c)
{
    return c->begun == c->number;
}

bool broker_client_is_ready(const struct broker_client *c)
{
    return c->is_ready;
}

int broker_client_listen(struct broker_client *c, int root, int listener, struct error *err)
{
    cleanup_close int root_fd = root, listener_fd = listener;
    struct pack p;

    if (root_fd < 0 || listener_fd < 0)
        return error_set(err, E_PROTOCOL, "the sandbox came without the calls for its broker");
    start_message(&p, BROKER_LISTEN);
    return send_message(c, &p, (int[]){root_fd, listener_fd}, 2, err);
}

/* --- runs --- */

static int begin_journal(struct broker_client *c, const struct run *run, struct error *err)
{
    bool is_root = geteuid() == 0;

    if (!undo_store_is_on(c->brokers->config))
        return 0;
    if (c->brokers->n_runs++ % RUNS_PER_PRUNING == 0)
        undo_store_prune_aside(c->brokers->config);
    (void)snprintf(c->run, sizeof(c->run), "%s", run->id);
    if (undo_store_begin(
            &(struct undo_store_run){.id = run->id,
                                     .owner = run->origin.keeper,
                                     .session = *run->origin.session ? run->origin.session : NULL,
                                     .grants = c->grants,
                                     .n_grants = c->n_grants,
                                     .uid = is_root ? c->uid : (uid_t)-1,
                                     .gid = is_root ? c->gid : (gid_t)-1},
            &c->journal, err) < 0) {
        error_wrap(err, "keep what the program changes");
        return error_hint(err, "make room in the state directory, or set `undo = \"off\"`");
    }
    return 0;
}

int broker_client_begin(struct broker_client *c, const struct run *run, struct error *err)
{
    struct journal_limits limits;
    struct pack p;

    end_journal(c);
    if (begin_journal(c, run, err) < 0)
        return -1;
    undo_store_limits(c->brokers->config, &limits);
    start_message(&p, BROKER_BEGIN);
    pack_u64(&p, ++c->number);
    pack_u64(&p, limits.bytes);
    pack_u64(&p, limits.entries);
    pack_u64(&p, run->terms.limits.file_bytes);
    pack_u32(&p, c->journal >= 0);
    c->has_run = true;
    return send_message(c, &p, &c->journal, c->journal >= 0 ? 1 : 0, err);
}

uint64_t broker_client_cpu_ns(const struct broker_client *c)
{
    return __atomic_load_n(&report_of(c)->cpu_ns, __ATOMIC_RELAXED);
}

static void note_changes(const struct broker_client *c, struct run *run)
{
    const struct broker_report *report = report_of(c);

    run->result.changes = (struct run_changes){
        .is_known = true,
        .created = report->created,
        .changed = report->changed,
        .removed = report->removed,
        .renamed = report->renamed,
    };
    run->result.changes.has_undo = c->journal >= 0 && (report->created || report->changed ||
                                                       report->removed || report->renamed);
}

/* Repetitions of one denial that are counted. */
#define REPEATED_MAX 1000

static void note_denials(const struct broker_report *report, struct run *run)
{
    uint32_t count = __atomic_load_n(&report->n_denials, __ATOMIC_ACQUIRE);

    for (uint32_t i = 0; i < count && i < BROKER_DENIALS; i++) {
        const struct broker_denial *denial = &report->denials[i];
        char hint[BROKER_WHY_MAX + 128];

        (void)snprintf(
            hint, sizeof(hint),
            "%.*s; do it yourself, or grant the directory `:cow` and look at the change; "
            "ask the user to do it",
            BROKER_WHY_MAX, denial->why);
        for (uint32_t n = 0; n < denial->count && n < REPEATED_MAX; n++)
            (void)run_deny(run, denial->what, RUN_LAYER_WRITE, hint);
    }
    run->result.denials_more += report->denials_more;
}

void broker_client_end(struct broker_client *c, struct run *run)
{
    struct pack p;

    if (!c->has_run) /* it was ended before its turn came */
        return;
    c->has_run = false;
    note_denials(report_of(c), run);
    note_changes(c, run);
    start_message(&p, BROKER_END);
    pack_u32(&p, !*run->origin.session);
    (void)send_message(c, &p, NULL, 0, NULL);
    end_journal(c); /* the broker has the lock until it has closed the journal */
}
