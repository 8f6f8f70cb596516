#include "base/closer.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Descriptors in one message. A message takes its room in the socket's buffer whatever their
 * number; Linux allows 253. */
#define BATCH 128

/* Descriptors that wait here while the socket is full. */
#define WAITING_MAX 1024

/* Time until a full socket is tried again. */
#define RETRY_MS 5

/* A file of fewer bytes is closed directly, and so many bytes at most in one turn. */
#define SMALL_BYTES  (256u << 10)
#define DIRECT_BYTES (8u << 20)

/* A helper that was killed is replaced, but not more often than this. */
#define RESTART_NS 10000000000u

/* The helper checks this often whether we have dropped our reference. */
#define LOOK_US 100

static struct {
    pid_t owner; /* 0: not started. A forked child is not the owner */
    pid_t helper;
    int sock;
    struct loop *loop;
    struct loop_watch *timer;
    _Atomic uint64_t *dropped; /* shared: descriptors that were sent and then closed here */
    uint64_t started_ns;
    uint64_t direct; /* bytes closed directly in this turn */
    int waiting[WAITING_MAX];
    size_t n_waiting;
} closer = {.sock = -1};

/* --- the helper --- */

/* Returns how many were sent; they are in `fds`, as far as there was room for them. 0: the end. */
static uint32_t receive(int fds[static BATCH], size_t *ret_count)
{
    union {
        struct cmsghdr head;
        char data[CMSG_SPACE(BATCH * sizeof(int))];
    } control;
    uint32_t sent = 0;
    struct iovec part = {.iov_base = &sent, .iov_len = sizeof(sent)};
    struct msghdr msg = {.msg_iov = &part,
                         .msg_iovlen = 1,
                         .msg_control = &control,
                         .msg_controllen = sizeof(control)};
    struct cmsghdr *c;
    ssize_t n;

    *ret_count = 0;
    do
        n = recvmsg(0, &msg, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof(sent))
        return 0;
    c = CMSG_FIRSTHDR(&msg);
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
        *ret_count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(fds, CMSG_DATA(c), *ret_count * sizeof(int));
    }
    return sent;
}

/* Closes what comes, but never before the sender has: the last reference must be dropped here. */
static void close_all(const _Atomic uint64_t *dropped)
{
    uint64_t received = 0;
    int fds[BATCH];
    size_t count;
    uint32_t sent;

    while ((sent = receive(fds, &count)) > 0) {
        received += sent;
        while (atomic_load(dropped) < received)
            (void)usleep(LOOK_US);
        for (size_t i = 0; i < count; i++)
            (void)close(fds[i]);
    }
}

__attribute__((noreturn)) static void help(int sock, pid_t parent, const _Atomic uint64_t *dropped)
{
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2};

    for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
        (void)signal(ignored[i], SIG_IGN);
    /* Not by the end of the socket alone: a child that was forked later has our end, too. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != parent)
        _exit(1);
    (void)setsid();
    (void)prctl(PR_SET_NAME, "belljar-closer", 0, 0, 0);
    if (dup2(sock, 0) < 0 || syscall(SYS_close_range, 1U, ~0U, 0U) < 0 || chdir("/") < 0)
        _exit(1);
    close_all(dropped);
    _exit(0);
}

/* --- its life --- */

static bool is_ours(void)
{
    return closer.owner && closer.owner == getpid();
}

static void end_helper(void)
{
    close_fd(&closer.sock);
    if (closer.helper > 0 && kill(closer.helper, SIGKILL) == 0)
        while (waitpid(closer.helper, NULL, __WALL) < 0 && errno == EINTR)
            ;
    closer.helper = 0;
}

static int start_helper(struct error *err)
{
    cleanup_close int theirs = -1;
    pid_t us = getpid();
    int pair[2];
    long pid;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return error_errno(err, "start the helper that frees memory");
    closer.sock = pair[0];
    theirs = pair[1];
    atomic_store(closer.dropped, 0);
    closer.started_ns = loop_now_ns();
    /* Without a signal at its end: no waitpid(-1) finds a child it does not know. */
    pid = syscall(SYS_clone, 0UL, NULL, NULL, NULL, 0UL);
    if (pid == 0)
        help(theirs, us, closer.dropped);
    if (pid < 0) {
        error_errno(err, "start the helper that frees memory");
        close_fd(&closer.sock);
        return -1;
    }
    closer.helper = (pid_t)pid;
    return 0;
}

/* --- handing over --- */

static int send_batch(const int *fds, uint32_t count)
{
    union {
        struct cmsghdr head;
        char data[CMSG_SPACE(BATCH * sizeof(int))];
    } control = {0};
    struct iovec part = {.iov_base = &count, .iov_len = sizeof(count)};
    struct msghdr msg = {.msg_iov = &part,
                         .msg_iovlen = 1,
                         .msg_control = &control,
                         .msg_controllen = CMSG_SPACE(count * sizeof(int))};

    control.head = (struct cmsghdr){.cmsg_len = CMSG_LEN(count * sizeof(int)),
                                    .cmsg_level = SOL_SOCKET,
                                    .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.head), fds, count * sizeof(int));
    return sendmsg(closer.sock, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -1 : 0;
}

/* The descriptors that have waited longest. */
static void close_first(size_t count)
{
    for (size_t i = 0; i < count; i++)
        (void)close(closer.waiting[i]);
    closer.n_waiting -= count;
    memmove(closer.waiting, closer.waiting + count, closer.n_waiting * sizeof(int));
}

/* The helper is gone: another one, or none. */
static void replace_helper(void)
{
    if (loop_now_ns() - closer.started_ns < RESTART_NS)
        return;
    end_helper();
    (void)start_helper(NULL);
}

static void flush(void)
{
    while (closer.n_waiting) {
        size_t count = closer.n_waiting < BATCH ? closer.n_waiting : BATCH;
        int r = closer.sock >= 0 ? send_batch(closer.waiting, (uint32_t)count) : -1;

        if (r < 0 && closer.sock >= 0 &&
            (errno == EAGAIN || errno == ENOBUFS || errno == ETOOMANYREFS || errno == EINTR)) {
            loop_timer_start(closer.timer, RETRY_MS);
            return;
        }
        if (r < 0)
            replace_helper();
        close_first(count);
        if (r == 0)
            (void)atomic_fetch_add(closer.dropped, count);
    }
}

static void on_timer(void *arg)
{
    (void)arg;
    closer.direct = 0;
    flush();
}

static void hand_over(int fd)
{
    if (closer.n_waiting == WAITING_MAX)
        flush();
    if (closer.n_waiting == WAITING_MAX) {
        (void)close(fd);
        return;
    }
    closer.waiting[closer.n_waiting++] = fd;
    if (closer.n_waiting % BATCH == 0)
        flush();
    if (closer.n_waiting == 1)
        loop_timer_start(closer.timer, 0);
}

/* Callers look at errno after their cleanup has run. */
void closer_close(int *fd)
{
    int errnum = errno;

    if (*fd < 0 || !is_ours())
        close_fd(fd);
    else
        hand_over(take_fd(*fd));
    errno = errnum;
}

static void close_file(int *fd)
{
    struct stat st;
    uint64_t bytes;

    if (*fd < 0 || !is_ours() || fstat(*fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        close_fd(fd);
        return;
    }
    bytes = (uint64_t)st.st_blocks * 512;
    if (bytes >= SMALL_BYTES || closer.direct + bytes > DIRECT_BYTES) {
        hand_over(take_fd(*fd));
        return;
    }
    if (bytes && !closer.direct && !closer.n_waiting)
        loop_timer_start(closer.timer, 0);
    closer.direct += bytes;
    close_fd(fd);
}

void closer_close_file(int *fd)
{
    int errnum = errno;

    close_file(fd);
    errno = errnum;
}

/* --- from outside --- */

int closer_start(struct loop *loop, struct error *err)
{
    void *page;

    if (is_ours())
        return 0;
    page = mmap(NULL, sizeof(*closer.dropped), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                -1, 0);
    if (page == MAP_FAILED)
        return error_errno(err, "start the helper that frees memory");
    closer.dropped = page;
    closer.loop = loop;
    closer.n_waiting = 0;
    closer.timer = loop_timer(loop, on_timer, NULL);
    closer.owner = getpid();
    if (!closer.timer || start_helper(err) < 0) {
        if (!closer.timer)
            error_memory(err);
        closer_stop();
        return -1;
    }
    return 0;
}

void closer_stop(void)
{
    if (!is_ours())
        return;
    end_helper();
    close_first(closer.n_waiting);
    loop_watch_free(take_ptr(closer.timer));
    (void)munmap(closer.dropped, sizeof(*closer.dropped));
    closer.dropped = NULL;
    closer.owner = 0;
}
