/* belljar-broker: performs what a program may change in directories granted for writing.
 *
 * Theory of operation. The supervisor executes one broker for each sandbox that has such a
 * directory, with nothing but a control socket (broker/broker.h). The first message brings the
 * directories as writable mounts that exist nowhere else. The broker surveys them, and then waits
 * for calls: every process of the sandbox stands still in its call until it is answered.
 *
 * It acts with the ids of the sandbox's user and has no capability. Started by root it keeps the
 * effective uid 0, because that is what lets it read paths from the memory of the caller, as the
 * owner of the namespace the caller is in; files are opened with the file-system ids.
 *
 * It ends when the control socket does, that is, with the supervisor. What it was about to do is
 * then done or not done; nothing is half protected, since protection is the mount's.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "broker/internal.h"
#include "sandbox/caps.h"
#include "sandbox/notify.h"
#include "wire/fds.h"
#include "wire/pack.h"

/* Newer headers have it; Linux since 6.6. The two sides of a call then run on one core. */
#define NOTIF_SET_FLAGS    SECCOMP_IOW(4, __u64)
#define NOTIF_SYNC_WAKE_UP UINT64_C(1)
#define NOTIF_BYTES        512 /* more than Linux's structs */

struct message {
    uint8_t data[BROKER_MESSAGE_MAX];
    size_t len;
    int fds[BROKER_FDS_MAX];
    size_t n_fds, taken;
};

/* Calls that wait for a copy of a large file, or (-1) for the next run. When there are as many, no
 * other is taken. */
#define WAITING_MAX 64

/* The supervisor kills the sandbox before it lets go of us, or its own end does. It waits longer
 * for us than this. */
#define SILENCE_PATIENCE_MS 5000

static struct waiting {
    struct seccomp_notif call;
    int fd;
} waiting[WAITING_MAX];
static size_t n_waiting;

static struct broker broker = {
    .listener = -1, .root = -1, .lock = TREE_LOCK_INIT, .journal_dir = -1, .umask = 022};
static struct message message;

/* --- the control socket --- */

static void send_message(struct pack *p)
{
    if (!p->failed)
        (void)send(BROKER_CONTROL_FD, p->data, p->len, MSG_NOSIGNAL);
    pack_done(p);
}

static void __attribute__((noreturn)) fail(const struct error *err)
{
    struct pack p;

    pack_init(&p, 16384);
    pack_u8(&p, BROKER_FAILED);
    pack_u32(&p, err->code);
    pack_str(&p, err->message);
    pack_str(&p, err->hint);
    send_message(&p);
    _exit(1);
}

static void __attribute__((noreturn)) fail_protocol(void)
{
    struct error err = {0};

    error_set(&err, E_INTERNAL, "the write broker received an invalid message");
    fail(&err);
}

/* Descriptors that are open for writing outlive the calls that are answered here. How the run left
 * its files is certain when no process of the sandbox is left. */
static void wait_for_silence(void)
{
    struct pollfd gone = {.fd = broker.listener};

    if (broker.listener >= 0)
        (void)poll(&gone, 1, SILENCE_PATIENCE_MS);
}

/* True: there is one. Ends with the supervisor. */
static bool receive(int flags)
{
    char control[FDS_SPACE(BROKER_FDS_MAX)];
    struct iovec iov = {message.data, sizeof(message.data)};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control,
                         .msg_controllen = sizeof(control)};
    ssize_t n = recvmsg(BROKER_CONTROL_FD, &msg, flags | MSG_CMSG_CLOEXEC);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) {
        if (broker.journal) {
            wait_for_silence();
            (void)journal_seal(broker.journal, NULL);
        }
        _exit(0);
    }
    message.len = (size_t)n;
    message.taken = 0;
    message.n_fds = fds_take(&msg, message.fds, BROKER_FDS_MAX);
    return true;
}

static int take_message_fd(void)
{
    if (message.taken == message.n_fds)
        fail_protocol();
    return message.fds[message.taken++];
}

/* --- setup --- */

/* Of everything root may do, nothing is left but being the owner of the sandbox's namespace. */
static int give_up_rights(uid_t uid, gid_t gid, struct error *err)
{
    if (geteuid() == 0) {
        if (setgroups(0, NULL) < 0)
            return error_errno(err, "setgroups");
        (void)setfsgid(gid);
        (void)setfsuid(uid);
        if ((gid_t)setfsgid((gid_t)-1) != gid || (uid_t)setfsuid((uid_t)-1) != uid)
            return error_set(err, E_SYSTEM, "cannot switch to the user ids of the sandbox");
        if (caps_drop_all(err) < 0)
            return -1;
    }
    if (caps_no_new_privs(err) < 0)
        return -1;
    if (prctl(PR_SET_DUMPABLE, 0) < 0 || setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}) < 0)
        return error_errno(err, "close the process");
    return 0;
}

static bool is_below(const char *path, const char *dir)
{
    size_t len = strlen(dir);

    return strncmp(path, dir, len) == 0 && path[len] == '/';
}

static void take_grants(struct unpack *u)
{
    uint32_t count = unpack_count(u, 8, WIRE_GRANTS_MAX);

    for (uint32_t i = 0; i < count; i++) {
        struct granted_dir *g = &broker.grants[broker.n_grants++];
        struct stat st;

        *g = (struct granted_dir){.path = span_dup(unpack_span(u)), .mount = -1};
        if (unpack_u32(u))
            g->mount = take_message_fd();
        if (!g->path || u->failed || (g->mount >= 0 && fstat(g->mount, &st) < 0))
            fail_protocol();
        if (g->mount >= 0) {
            g->dev = st.st_dev;
            g->ino = st.st_ino;
        }
    }
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < count; k++)
            broker.has_nested |= is_below(broker.grants[i].path, broker.grants[k].path);
}

/* Belljar's own places are covered in the sandbox where they lie below a grant. */
static void take_own_places(struct unpack *u)
{
    uint32_t count = unpack_count(u, 8, PROTECTED_OWN_MAX);

    for (uint32_t i = 0; i < count; i++) {
        cleanup_free char *path = span_dup(unpack_span(u));
        bool is_hidden = unpack_u32(u);

        if (!path || (is_hidden ? protected_add_own(path) : protected_add_run(path)) < 0)
            fail_protocol();
        for (uint32_t k = 0; is_hidden && k < broker.n_grants; k++)
            broker.has_nested |= is_below(path, broker.grants[k].path);
    }
}

static void take_lock_keys(struct unpack *u)
{
    uint32_t count = unpack_count(u, 12, TREE_KEYS_MAX);

    broker.lock.keys = calloc(count + 1, sizeof(*broker.lock.keys));
    if (!broker.lock.keys)
        fail_protocol();
    for (uint32_t i = 0; i < count; i++) {
        uint64_t at = unpack_u64(u);

        broker.lock.keys[broker.lock.n_keys++] = (struct tree_key){at, unpack_u32(u)};
    }
}

static void set_up(struct unpack *u)
{
    struct error err = {0};
    uid_t uid = unpack_u32(u);
    gid_t gid = unpack_u32(u);
    struct survey_outside *outside[ARRAY_SIZE(broker.grants)] = {0};
    int report = take_message_fd();

    broker.uid = uid;
    broker.lock.fd = take_message_fd();
    broker.lock.marks = take_message_fd();
    broker.report =
        mmap(NULL, sizeof(*broker.report), PROT_READ | PROT_WRITE, MAP_SHARED, report, 0);
    (void)close(report);
    if (broker.report == MAP_FAILED)
        fail_protocol();
    take_grants(u);
    take_own_places(u);
    take_lock_keys(u);
    if (!unpack_ok(u))
        fail_protocol();
    /* Homes may be closed to the sandbox's user. */
    for (uint32_t i = 0; i < broker.n_grants; i++)
        if (survey_outside_new(broker.grants[i].path, &outside[i], &err) < 0)
            fail(&err);
    if (give_up_rights(uid, gid, &err) < 0)
        fail(&err);
    for (uint32_t i = 0; i < broker.n_grants; i++) {
        struct granted_dir *g = &broker.grants[i];

        if (g->mount >= 0 && survey_new_with(g->mount, g->path, outside[i], &g->survey, &err) < 0) {
            error_wrap(&err, "grant %s", g->path);
            fail(&err);
        }
        survey_outside_free(outside[i]);
    }
}

static void say_ready(void)
{
    struct pack p;

    pack_init(&p, 16);
    pack_u8(&p, BROKER_READY);
    send_message(&p);
}

/* --- runs --- */

static void count_changes(void)
{
    struct journal_counts counts;

    if (!broker.journal)
        return;
    journal_count(broker.journal, &counts);
    broker.report->created = counts.created;
    broker.report->changed = counts.changed;
    broker.report->removed = counts.removed;
    broker.report->renamed = counts.renamed;
}

static uint64_t cpu_ns(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Work for a program is charged to its run: checking its files may cost more than writing them. */
static void count_cpu(void)
{
    __atomic_store_n(&broker.report->cpu_ns, cpu_ns() - broker.cpu_ns_before, __ATOMIC_RELAXED);
}

/* `goes_on`: the sandbox does, and may have files open. */
static void end(bool goes_on)
{
    if (broker.journal && goes_on)
        journal_on_final(broker.journal, held_note, NULL);
    if (broker.journal)
        (void)journal_seal(broker.journal, NULL);
    journal_free(broker.journal);
    broker.journal = NULL;
    close_fd(&broker.journal_dir);
    broker.is_ending = false;
    broker.is_paused = broker.is_keeping;
    for (size_t i = 0; i < n_waiting; i++)
        waiting[i].fd = -1; /* its copy went with the journal */
}

/* A session goes on, and so may its jobs: its run ends here. Otherwise the sandbox ends, too, and
 * what is left of its processes may write until then. */
static void end_run(struct unpack *u)
{
    bool is_last = unpack_u32(u);

    if (!unpack_ok(u))
        fail_protocol();
    if (!is_last || !broker.journal || broker.listener < 0) {
        end(!is_last);
        return;
    }
    broker.is_paused = true;
    broker.is_ending = true;
}

static void say_begun(uint64_t number)
{
    struct pack p;

    pack_init(&p, 16);
    pack_u8(&p, BROKER_BEGUN);
    pack_u64(&p, number);
    send_message(&p);
}

static void begin(struct unpack *u)
{
    uint64_t number = unpack_u64(u);

    end(true);
    broker.limits.bytes = unpack_u64(u);
    broker.limits.entries = unpack_u64(u);
    broker.file_bytes = unpack_u64(u);
    memset(broker.report, 0, sizeof(*broker.report));
    broker.cpu_ns_before = cpu_ns();
    __atomic_store_n(&broker.report->run, number, __ATOMIC_RELEASE);
    broker.is_keeping = unpack_u32(u);
    if (broker.is_keeping)
        broker.journal_dir = take_message_fd();
    broker.is_paused = false;
    if (!unpack_ok(u))
        fail_protocol();
    held_keep(&broker);
    count_changes();
    say_begun(number);
}

/* The sandbox may not stand yet when we are told to listen. Where its grants are is found out with
 * its first calls; one that is not to be found then never will be. */
#define LOOKS_MAX 64

static void listen_to(void)
{
    broker.root = take_message_fd();
    broker.listener = take_message_fd();
    (void)ioctl(broker.listener, NOTIF_SET_FLAGS, NOTIF_SYNC_WAKE_UP);
    broker.looks_left = LOOKS_MAX;
}

static void obey(void)
{
    struct unpack u;

    unpack_init(&u, message.data, message.len);
    switch (unpack_u8(&u)) {
    case BROKER_SETUP:
        set_up(&u);
        say_ready();
        break;
    case BROKER_LISTEN:
        listen_to();
        break;
    case BROKER_BEGIN:
        begin(&u);
        break;
    case BROKER_END:
        end_run(&u);
        break;
    default:
        fail_protocol();
    }
}

/* --- calls --- */

static void answer(uint64_t id, long result)
{
    struct seccomp_notif_resp response = {.id = id};

    if (result == ANSWER_CONTINUE)
        response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    else if (result < 0)
        response.error = (int)result;
    else
        response.val = result;
    /* The caller may have been killed meanwhile. */
    (void)notify_request(broker.listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

/* Two steps, although Linux has a flag that makes them one: with the flag, a signal that reaches us
 * on the way (SIGSTOP, or the machine going to sleep) lets the caller go on with descriptor 0 and
 * nothing behind it. Nothing comes between the two steps but the caller's end: its filter lets it
 * wait for us unless it is killed. */
static void answer_with_fd(uint64_t id, int fd, uint32_t fd_flags)
{
    struct seccomp_notif_addfd add = {.id = id, .srcfd = (uint32_t)fd, .newfd_flags = fd_flags};
    int number = notify_request(broker.listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);

    answer(id, number < 0 ? -errno : number);
    (void)close(fd);
}

/* False: it waits for a copy, or for the next run. */
static bool perform(const struct seccomp_notif *call)
{
    uint32_t fd_flags = 0;
    int fd = -1;
    long result;

    broker.call = call->id;
    result = call_perform(&broker, call, &fd, &fd_flags);
    count_cpu();
    if (result == ANSWER_LATER)
        return false;
    count_changes();
    if (fd >= 0)
        answer_with_fd(call->id, fd, fd_flags);
    else
        answer(call->id, result);
    return true;
}

static void serve_call(void)
{
    union {
        struct seccomp_notif notif;
        char bytes[NOTIF_BYTES];
    } call = {.bytes = {0}};

    if (ioctl(broker.listener, SECCOMP_IOCTL_NOTIF_RECV, &call.notif) < 0)
        return; /* the caller is gone, or a signal came: poll() tells */
    if (!perform(&call.notif))
        waiting[n_waiting++] = (struct waiting){call.notif, broker.waits_for};
}

static void serve_waiting(size_t i)
{
    struct seccomp_notif call = waiting[i].call;

    waiting[i] = waiting[--n_waiting];
    if (!perform(&call))
        waiting[n_waiting++] = (struct waiting){call, broker.waits_for};
}

static void turn(void)
{
    struct pollfd watched[2 + WAITING_MAX] = {
        {.fd = BROKER_CONTROL_FD, .events = POLLIN},
        {.fd = broker.listener, .events = n_waiting < WAITING_MAX ? POLLIN : 0},
    };
    size_t count = n_waiting;

    for (size_t i = 0; i < count; i++)
        watched[2 + i] = (struct pollfd){.fd = waiting[i].fd, .events = POLLIN};
    if (poll(watched, 2 + count, -1) < 0)
        return;
    /* Messages of the supervisor about a run come before the calls of its program. */
    while (watched[0].revents && receive(MSG_DONTWAIT))
        obey();
    /* From the end: the last one takes the place of one that is answered. */
    for (size_t i = count; i-- > 0;)
        if (i < n_waiting && (watched[2 + i].revents || (waiting[i].fd < 0 && !broker.is_paused)))
            serve_waiting(i);
    if (watched[1].revents & POLLIN) {
        serve_call();
    } else if (watched[1].revents) {
        close_fd(&broker.listener); /* no process of the sandbox is left */
        if (broker.is_ending)
            end(false);
    }
}

int main(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGIO, SIG_IGN);  /* of a lease, held for a moment (held.c) */
    (void)signal(SIGINT, SIG_IGN); /* of a terminal: the supervisor decides when this ends */
    (void)setsid();
    (void)umask(022);
    for (;;)
        turn();
}
