#include "cli/output_sink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/display.h"
#include "base/cleanup.h"

/* The most that waits where the program cannot be held, as on a server: the answer of one has less.
 * Beyond it we wait for the reader. */
#define WAITING_MAX ((size_t)4 * LIMIT_OUTPUT_BYTES_MAX)

/* O_NONBLOCK on the descriptor itself would hold for all processes that share it, such as the
 * shell. A pipe or terminal can be opened a second time; others are written to in small pieces when
 * poll(2) says so. */
static int open_twin(int fd)
{
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

void output_sink_init(struct output_sink *sink, int fd, const char *color)
{
    struct stat st;

    *sink = (struct output_sink){.fd = fd, .twin = -1, .is_terminal = isatty(fd) == 1};
    buf_init(&sink->waiting, SIZE_MAX / 2);
    terminal_begin(&sink->terminal, terminal_has_color(fd, color));
    sink->terminal.is_live = true;
    if (fstat(fd, &st) < 0)
        return;
    sink->is_socket = S_ISSOCK(st.st_mode);
    sink->is_file = S_ISREG(st.st_mode);
    if (sink->is_terminal || S_ISFIFO(st.st_mode))
        sink->twin = open_twin(fd);
}

bool output_sink_is_one(void)
{
    struct stat out, err;

    return fstat(STDOUT_FILENO, &out) == 0 && fstat(STDERR_FILENO, &err) == 0 &&
           out.st_dev == err.st_dev && out.st_ino == err.st_ino;
}

void output_sink_follow(struct output_sink *sink, struct loop *loop, loop_fn on_room, void *user)
{
    sink->loop = loop;
    sink->on_room = on_room;
    sink->user = user;
}

static void unwatch(struct output_sink *sink)
{
    loop_watch_free(sink->watch);
    sink->watch = NULL;
}

void output_sink_unfollow(struct output_sink *sink)
{
    unwatch(sink);
    sink->loop = NULL;
}

void output_sink_done(struct output_sink *sink)
{
    output_sink_unfollow(sink);
    if (sink->twin >= 0)
        close_fd(&sink->twin);
    buf_done(&sink->waiting);
}

static bool is_writable(int fd, int timeout_ms)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};

    return poll(&p, 1, timeout_ms) == 1;
}

/* Writes without waiting: as write(2), EAGAIN for a reader that takes nothing now. */
static ssize_t write_now(struct output_sink *sink, const char *data, size_t len)
{
    if (sink->twin >= 0)
        return write(sink->twin, data, len);
    if (sink->is_socket)
        return send(sink->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sink->is_file)
        return write(sink->fd, data, len);
    if (!is_writable(sink->fd, 0)) {
        errno = EAGAIN;
        return -1;
    }
    return write(sink->fd, data, len < PIPE_BUF ? len : PIPE_BUF);
}

/* Returns how much of it was written, less than all where the reader takes no more now. */
static size_t write_some(struct output_sink *sink, const char *data, size_t len, bool waits)
{
    size_t done = 0;

    while (done < len && !sink->failure) {
        ssize_t n = write_now(sink, data + done, len - done);

        if (n >= 0)
            done += (size_t)n;
        else if (errno == EAGAIN && !waits)
            break;
        else if (errno == EAGAIN)
            (void)is_writable(sink->fd, -1);
        else if (errno != EINTR)
            sink->failure = errno;
    }
    return done;
}

static void write_waiting(struct output_sink *sink, bool waits)
{
    sink->written += write_some(sink, buf_str(&sink->waiting) + sink->written,
                                sink->waiting.len - sink->written, waits);
    if (sink->written == sink->waiting.len || sink->failure) { /* nobody will have the rest */
        buf_clear(&sink->waiting);
        sink->written = 0;
    }
}

static void on_writable(void *arg)
{
    struct output_sink *sink = arg;

    write_waiting(sink, false);
    if (output_sink_is_behind(sink))
        return;
    unwatch(sink);
    sink->on_room(sink->user);
}

/* Without a watch, what waits goes with the next piece. */
static void watch(struct output_sink *sink)
{
    if (sink->loop && !sink->watch && !sink->is_paused && output_sink_is_behind(sink))
        sink->watch = loop_watch_fd(sink->loop, sink->twin >= 0 ? sink->twin : sink->fd, LOOP_WRITE,
                                    on_writable, sink);
}

static int settle(struct output_sink *sink)
{
    if (!sink->is_paused)
        write_waiting(sink, sink->waits || sink->waiting.len - sink->written > WAITING_MAX);
    watch(sink);
    return sink->failure ? -1 : 0;
}

static int add(struct output_sink *sink, const char *data, size_t len)
{
    struct error err = {0};
    int r;

    if (sink->failure)
        return -1;
    if (sink->is_screen) {
        r = terminal_screen_feed(&sink->screen, data, len, &sink->waiting, &err);
    } else if (sink->is_terminal) {
        r = terminal_feed(&sink->terminal, data, len, &sink->waiting, &err);
        sink->is_in_line = len ? data[len - 1] != '\n' : sink->is_in_line;
        sink->has_escape |= memchr(data, '\033', len) != NULL;
    } else {
        size_t n = 0;

        if (!sink->is_paused && !output_sink_is_behind(sink))
            n = write_some(sink, data, len, false);
        r = buf_add(&sink->waiting, data + n, len - n, &err);
    }
    if (r < 0) {
        sink->failure = ENOMEM;
        error_done(&err);
    }
    return settle(sink);
}

/* The text of a thing that was shown, where print() would have put it. */
static int add_display(struct output_sink *sink, const struct run_display *display)
{
    uint32_t width, height;
    const struct run_form *text =
        display_picture(display, &width, &height) ? NULL : run_display_form(display, "text/plain");

    if (!text)
        return 0;
    return add(sink, text->data, text->len) < 0 || add(sink, "\n", 1) < 0 ? -1 : 0;
}

int output_sink_pass(struct output_sink *sink, const struct run_event *event)
{
    if (event->kind == RUN_EVENT_DISPLAY)
        return add_display(sink, event->display);
    if (event->kind == RUN_EVENT_STDOUT || event->kind == RUN_EVENT_STDERR)
        return add(sink, event->data, event->len);
    return 0;
}

int output_sink_pause(struct output_sink *sink, bool is_paused)
{
    sink->is_paused = is_paused;
    if (is_paused)
        unwatch(sink);
    return settle(sink);
}

/* Lines that follow are ours: they begin at the left, in no colour that the program left on. */
static int end_line(struct output_sink *sink)
{
    int r = terminal_screen_finish(&sink->screen, &sink->waiting, NULL);

    if (r < 0)
        return -1;
    sink->had_reports |= r > 0;
    if (terminal_finish(&sink->terminal, &sink->waiting, NULL) < 0 ||
        (sink->has_escape && buf_add_str(&sink->waiting, "\033[0m", NULL) < 0) ||
        (sink->is_in_line && buf_add_str(&sink->waiting, "\r\n", NULL) < 0))
        return -1;
    sink->has_escape = sink->is_in_line = false;
    return 0;
}

int output_sink_finish(struct output_sink *sink)
{
    unwatch(sink);
    sink->is_paused = false;
    if (sink->is_terminal && end_line(sink) < 0 && !sink->failure)
        sink->failure = ENOMEM;
    write_waiting(sink, true);
    return sink->failure ? -1 : 0;
}

int output_sink_check(const struct output_sink *sink, const char *name, struct error *err)
{
    if (!sink->failure)
        return 0;
    errno = sink->failure;
    return error_errno(err, "write to %s", name);
}
