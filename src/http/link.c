#include "http/link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <event2/buffer.h>

#include "base/buf.h"
#include "base/child.h"
#include "base/cleanup.h"
#include "base/disk_hold.h"
#include "base/log.h"
#include "base/paths.h"
#include "wire/fds.h"

/* How long it may take to become ready. */
#define START_MS 20000

/* From its end to the next start: at once after a long life, later and later after short ones. */
#define LONG_LIFE_NS   10000000000u
#define FIRST_DELAY_MS 50
#define LAST_DELAY_MS  5000

/* Read at once; the beginning of a frame may be left of it. */
#define READ_BYTES (4 * LISTENER_PIECE)

struct http_link {
    struct loop *loop;
    const struct http_link_events *events;
    void *user;
    char *program;
    struct pack setup;
    pid_t pid; /* 0: there is none */
    int sock, connections;
    struct loop_watch *reading, *writing, *passing, *restart;
    struct loop_work work; /* frames that wait for a turn of the loop */
    struct evbuffer *out;
    struct disk_hold hold; /* of `out` */
    struct buf in;
    size_t at; /* of `in`: before it all is done */
    uint64_t started_ns;
    uint64_t delay_ms;
    bool is_up;
    bool is_reading; /* a frame is being handled: what it breaks ends behind it */
    bool is_broken;
    bool is_lost; /* by no fault of its own: what it was to be told is */
};

static void start_later(struct http_link *link);
static void go_on(void *arg);

/* --- its end --- */

static void end_process(struct http_link *link)
{
    loop_watch_free(take_ptr(link->reading));
    loop_watch_free(take_ptr(link->writing));
    loop_watch_free(take_ptr(link->passing));
    loop_work_cancel(&link->work);
    close_fd(&link->sock);
    close_fd(&link->connections);
    if (link->pid > 0) {
        (void)kill(link->pid, SIGKILL);
        while (waitpid(link->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    link->pid = 0;
    link->is_up = false;
    link->is_broken = link->is_lost = false;
    link->at = 0;
    buf_clear(&link->in);
    (void)evbuffer_drain(link->out, evbuffer_get_length(link->out));
    disk_hold_reset(&link->hold);
}

static void go_down(struct http_link *link, const char *why)
{
    bool was_up = link->is_up;

    LOG_EVENT(LOG_ERROR, "listener", {"message", why}, {"pid", .number = (double)link->pid});
    end_process(link);
    start_later(link);
    if (was_up)
        link->events->on_down(link->user, link);
}

/* Not while one of its frames is handled. */
static void fail(struct http_link *link)
{
    link->is_broken = true;
    if (!link->is_reading && link->pid)
        loop_work_post(link->loop, &link->work, go_on, link);
}

/* --- what it says --- */

static int handle(struct http_link *link, const struct listener_frame *frame)
{
    if (frame->type == LISTENER_READY && !link->is_up) {
        link->is_up = true;
        link->events->on_up(link->user, link);
        return 0;
    }
    if (frame->type == LISTENER_READY || frame->type == LISTENER_FAILED || !link->is_up)
        return -1;
    return link->events->on_frame(link->user, link, frame);
}

/* The frames that are there, until this turn of the loop has taken long; the first one always. */
static void handle_all(struct http_link *link)
{
    struct listener_frame frame;
    bool is_late = false;
    ssize_t n = 0;

    link->is_reading = true;
    while (!link->is_broken && !is_late &&
           (n = listener_frame_parse(buf_str(&link->in) + link->at, link->in.len - link->at,
                                     LISTENER_ITSELF, &frame)) > 0) {
        link->at += (size_t)n;
        if (handle(link, &frame) < 0)
            link->is_broken = true;
        is_late = loop_is_late(link->loop);
    }
    link->is_reading = false;
    buf_consume(&link->in, link->at);
    link->at = 0;
    if (n < 0 || link->is_broken)
        go_down(link, link->is_lost ? "the disk failed: answers were withheld"
                                    : "a listener broke the rules and was ended");
    else if (is_late)
        loop_work_post(link->loop, &link->work, go_on, link);
}

static void go_on(void *arg)
{
    struct http_link *link = arg;

    handle_all(link);
    http_link_flush(link);
}

static void on_readable(void *arg)
{
    struct http_link *link = arg;
    ssize_t n;

    if (link->work.loop)
        return; /* what came before it has not been handled */
    if (buf_reserve(&link->in, READ_BYTES, NULL) < 0) {
        go_down(link, "there is no memory to hear a listener");
        return;
    }
    n = read(link->sock, link->in.data + link->in.len, READ_BYTES);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        go_down(link, "a listener ended");
        return;
    }
    link->in.len += (size_t)n;
    if (loop_is_late(link->loop)) /* others have taken this turn */
        loop_work_post(link->loop, &link->work, go_on, link);
    else
        go_on(link);
}

/* --- what it is told --- */

bool http_link_is_up(const struct http_link *link)
{
    return link->is_up;
}

static void on_writable(void *arg)
{
    http_link_flush(arg);
}

static void on_free(void *user)
{
    http_link_flush(user);
}

/* Clients must not learn what a power failure would undo. */
static void on_lost(void *user)
{
    struct http_link *link = user;

    link->is_lost = true;
    fail(link);
}

static const struct disk_hold_events hold_events = {on_free, on_lost};

void http_link_flush(struct http_link *link)
{
    size_t free;

    while (link->pid && !link->is_broken &&
           (free = disk_hold_ask(&link->hold, evbuffer_get_length(link->out))) > 0) {
        int n = evbuffer_write_atmost(link->out, link->sock, (ev_ssize_t)free);

        if (n > 0)
            disk_hold_left(&link->hold, (size_t)n);
        if (n > 0 || errno == EINTR)
            continue;
        if (errno != EAGAIN) {
            fail(link);
            return;
        }
        if (!link->writing)
            link->writing = loop_watch_fd(link->loop, link->sock, LOOP_WRITE, on_writable, link);
        if (!link->writing)
            fail(link);
        return;
    }
    loop_watch_free(take_ptr(link->writing));
}

void http_link_say(struct http_link *link, enum listener_type type, uint64_t connection,
                   const void *data, size_t len)
{
    uint8_t header[LISTENER_HEADER_BYTES];

    if (!link->pid)
        return;
    listener_frame_header(header, type, connection, len);
    if (evbuffer_add(link->out, header, sizeof(header)) < 0 ||
        (len && evbuffer_add(link->out, data, len) < 0))
        fail(link);
}

void http_link_say_number(struct http_link *link, enum listener_type type, uint64_t connection,
                          uint32_t number)
{
    const uint32_t value = htole32(number);

    http_link_say(link, type, connection, &value, sizeof(value));
}

void http_link_move(struct http_link *link, uint64_t connection, struct evbuffer *bytes, size_t len)
{
    uint8_t header[LISTENER_HEADER_BYTES];

    listener_frame_header(header, LISTENER_DATA, connection, len);
    if (link->pid && (evbuffer_add(link->out, header, sizeof(header)) < 0 ||
                      evbuffer_remove_buffer(bytes, link->out, len) != (int)len))
        fail(link);
}

static void on_room(void *arg)
{
    struct http_link *link = arg;

    loop_watch_free(take_ptr(link->passing));
    link->events->on_room(link->user, link);
}

int http_link_pass(struct http_link *link, const struct listener_connection *connection, int fd)
{
    char control[FDS_SPACE(1)];
    struct iovec iov = {(void *)(uintptr_t)connection, sizeof(*connection)};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

    if (!link->is_up || link->passing)
        return 1;
    fds_put(&msg, control, &fd, 1);
    if (sendmsg(link->connections, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
        return 0;
    if (errno == EPIPE || errno == ECONNRESET)
        return 1; /* it is gone, which we hear soon; the next one takes the connection */
    if (errno != EAGAIN && errno != EINTR && errno != ETOOMANYREFS && errno != ENOBUFS)
        return -1;
    link->passing = loop_watch_fd(link->loop, link->connections, LOOP_WRITE, on_room, link);
    return link->passing ? 1 : -1;
}

/* --- its beginning --- */

struct start {
    char *argv[2];
    char *environment[1];
    int sock, connections;
};

/* In the child, which shares our memory until it executes: nothing is allocated or kept. */
static int become_listener(void *arg)
{
    const struct start *start = arg;
    int sock = fcntl(start->sock, F_DUPFD, 16);
    int connections = fcntl(start->connections, F_DUPFD, 16);
    int null = open("/dev/null", O_RDWR);

    child_reset_signals();
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || sock < 0 || connections < 0 || null < 0 ||
        dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 ||
        dup2(sock, LISTENER_LINK) < 0 || dup2(connections, LISTENER_CONNECTIONS) < 0 ||
        chdir("/") < 0 || setsid() < 0 ||
        syscall(SYS_close_range, LISTENER_CONNECTIONS + 1U, ~0U, 0U) < 0)
        return 1;
    (void)execve(start->argv[0], start->argv, start->environment);
    return 1;
}

static int start_process(struct http_link *link, struct error *err)
{
    struct start start = {.argv = {link->program}};
    int stream[2], packets[2];

    if (access(link->program, X_OK) < 0) {
        (void)error_errno(err, "start `%s`", link->program);
        return error_hint(err, "it is installed with belljar: install Belljar again");
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, stream) < 0)
        return error_errno(err, "socketpair");
    link->sock = stream[0];
    start.sock = stream[1];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, packets) < 0) {
        (void)error_errno(err, "socketpair");
        (void)close(stream[1]);
        return -1;
    }
    link->connections = packets[0];
    start.connections = packets[1];
    link->started_ns = loop_now_ns();
    link->pid = child_vfork(0, become_listener, &start);
    if (link->pid < 0) {
        link->pid = 0;
        (void)error_errno(err, "start the listener");
    }
    (void)close(stream[1]);
    (void)close(packets[1]);
    return link->pid ? 0 : -1;
}

static int start(struct http_link *link, struct error *err)
{
    if (start_process(link, err) < 0)
        return -1;
    http_link_say(link, LISTENER_SETUP, 0, link->setup.data, link->setup.len);
    disk_hold_release(&link->hold, evbuffer_get_length(link->out)); /* no loop runs yet */
    if (fcntl(link->sock, F_SETFL, O_RDWR | O_NONBLOCK) < 0)
        return error_errno(err, "fcntl");
    http_link_flush(link);
    link->reading = loop_watch_fd(link->loop, link->sock, LOOP_READ, on_readable, link);
    return link->reading ? 0 : error_memory(err); /* one that has ended is noticed there */
}

/* As text: it comes from a process that has seen nothing of a stranger yet. */
static int fail_as(struct listener_frame frame, struct error *err)
{
    error_set(err, E_UNSUPPORTED, "the listener cannot be confined: %.*s", (int)frame.len,
              frame.data);
    return error_hint(err, "`belljar doctor` shows what this host lacks");
}

/* The first word: the loop does not run yet. */
static int wait_until_ready(struct http_link *link, struct error *err)
{
    struct pollfd there = {.fd = link->sock, .events = POLLIN};
    struct listener_frame frame = {0};
    ssize_t n = 0, used = 0;

    while (used == 0) {
        if (poll(&there, 1, START_MS) <= 0)
            return error_set(err, E_SYSTEM, "the listener does not answer");
        if (buf_reserve(&link->in, READ_BYTES, err) < 0)
            return -1;
        n = read(link->sock, link->in.data + link->in.len, READ_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            error_set(err, E_SYSTEM, "the listener ended at its start");
            return error_hint(err, "`%s` must have the same version as belljar", link->program);
        }
        link->in.len += (size_t)n;
        used = listener_frame_parse(link->in.data, link->in.len, LISTENER_ITSELF, &frame);
    }
    if (used > 0 && frame.type == LISTENER_FAILED)
        return fail_as(frame, err);
    if (used < 0 || frame.type != LISTENER_READY)
        return error_set(err, E_PROTOCOL, "the listener said something unexpected");
    buf_consume(&link->in, (size_t)used);
    link->is_up = true;
    link->events->on_up(link->user, link);
    return 0;
}

static void on_restart(void *arg)
{
    struct http_link *link = arg;
    struct error err = {0};

    if (start(link, &err) < 0) {
        go_down(link, error_message(&err));
        error_done(&err);
        return;
    }
    LOG_EVENT(LOG_WARNING, "listener", {"message", "a listener was started again"},
              {"pid", .number = (double)link->pid});
}

static void start_later(struct http_link *link)
{
    if (loop_now_ns() - link->started_ns > LONG_LIFE_NS)
        link->delay_ms = 0;
    loop_timer_start(link->restart, link->delay_ms);
    link->delay_ms = link->delay_ms ? 2 * link->delay_ms : FIRST_DELAY_MS;
    if (link->delay_ms > LAST_DELAY_MS)
        link->delay_ms = LAST_DELAY_MS;
}

int http_link_open(struct loop *loop, const struct listener_setup *setup,
                   const struct http_link_events *events, void *user, struct group_sync *disk,
                   struct http_link **ret_link, struct error *err)
{
    struct http_link *link = calloc(1, sizeof(*link));

    if (!link)
        return error_memory(err);
    *link = (struct http_link){
        .loop = loop, .events = events, .user = user, .sock = -1, .connections = -1};
    disk_hold_init(&link->hold, disk, &hold_events, link);
    buf_init(&link->in, READ_BYTES + LISTENER_FRAME_MAX);
    pack_init(&link->setup, LISTENER_FRAME_MAX);
    listener_setup_write(&link->setup, setup);
    link->out = evbuffer_new();
    link->restart = loop_timer(loop, on_restart, link);
    link->program = paths_program("belljar-listener", err);
    if (!link->out || !link->restart || link->setup.failed)
        (void)error_memory(err);
    else if (link->program && start(link, err) == 0 && wait_until_ready(link, err) == 0) {
        *ret_link = link;
        return 0;
    }
    http_link_free(link);
    return -1;
}

void http_link_free(struct http_link *link)
{
    if (!link)
        return;
    if (link->out)
        end_process(link);
    disk_hold_done(&link->hold);
    loop_watch_free(link->restart);
    if (link->out)
        evbuffer_free(link->out);
    if (link->setup.data)
        explicit_bzero(link->setup.data, link->setup.len);
    pack_done(&link->setup);
    buf_done(&link->in);
    free(link->program);
    free(link);
}
