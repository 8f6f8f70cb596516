#include "mcp/stdio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/disk_hold.h"
#include "base/json.h"
#include "base/limits.h"

#define PIECE (64 * KIB)

/* Above it the reader is behind: progress is left out, and a good way above nothing more is read.
 */
#define OUT_HIGH (256 * KIB)
#define OUT_FULL (4 * MIB)

/* Time for running calls after the end of the input; clients send a signal after two seconds. */
#define GRACE_MS 1500

struct mcp_stdio {
    struct mcp_stdio_options options;
    struct mcp_peer *peer;
    struct loop_watch *readable, *writable, *again, *grace;
    struct buf in;
    size_t scanned;   /* of `in`, without a newline */
    bool is_skipping; /* the rest of a line that is too long */
    bool is_over;     /* no more input */
    bool is_reported; /* on_end was called */
    struct buf out;
    size_t written;          /* of `out` */
    struct disk_hold hold;   /* of the rest */
    int flags;               /* of the output, as they were */
    LIST_HEAD(, line) lines; /* whose exchanges are open */
    bool is_reading;         /* now: nothing of ours is freed in between */
};

/* One line and its answer. */
struct line {
    struct mcp_exchange exchange; /* the first, for line_of() */
    struct mcp_stdio *stdio;
    LIST_ENTRY(line) link;
};

/* --- out --- */

static void end(struct mcp_stdio *stdio)
{
    if (stdio->is_reported)
        return;
    stdio->is_reported = true;
    stdio->options.on_end(stdio->options.user);
}

static size_t unwritten(const struct mcp_stdio *stdio)
{
    return stdio->out.len - stdio->written;
}

static void end_when_done(struct mcp_stdio *stdio)
{
    if (stdio->is_over && LIST_EMPTY(&stdio->lines) && !unwritten(stdio))
        end(stdio);
}

static void watch_input(struct mcp_stdio *stdio);

static void flush(struct mcp_stdio *stdio);

static void on_writable(void *arg)
{
    flush(arg);
}

static void give_up(struct mcp_stdio *stdio)
{
    stdio->written = stdio->out.len;
    disk_hold_reset(&stdio->hold);
    stdio->is_over = true;
    end(stdio);
}

static void on_free(void *user)
{
    flush(user);
}

/* The client must not learn what a power failure would undo. */
static void on_lost(void *user)
{
    give_up(user);
}

static const struct disk_hold_events hold_events = {on_free, on_lost};

/* As much as the pipe takes; the rest when it has room again. */
static void flush(struct mcp_stdio *stdio)
{
    size_t free = 0;

    while (unwritten(stdio) && (free = disk_hold_ask(&stdio->hold, unwritten(stdio))) > 0) {
        ssize_t n = write(stdio->options.out, stdio->out.data + stdio->written, free);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN) { /* nobody reads any more */
            give_up(stdio);
            return;
        }
        if (n < 0)
            break;
        stdio->written += (size_t)n;
        disk_hold_left(&stdio->hold, (size_t)n);
    }
    if (unwritten(stdio)) {
        if (!free) { /* on_free() follows */
            loop_watch_free(take_ptr(stdio->writable));
            return;
        }
        if (!stdio->writable)
            stdio->writable = loop_watch_fd(stdio->options.loop, stdio->options.out, LOOP_WRITE,
                                            on_writable, stdio);
        return;
    }
    buf_clear(&stdio->out);
    stdio->written = 0;
    loop_watch_free(stdio->writable);
    stdio->writable = NULL;
    watch_input(stdio);
    end_when_done(stdio);
}

static void write_message(struct mcp_stdio *stdio, const json_t *message)
{
    size_t before = stdio->out.len;

    if (stdio->is_reported || !message)
        return;
    if (stdio->written > OUT_FULL) {
        buf_consume(&stdio->out, stdio->written);
        before -= stdio->written;
        stdio->written = 0;
    }
    /* Half a line would spoil the next one. */
    if (json_text_dump(message, JSON_TEXT_COMPACT, &stdio->out, NULL) < 0 ||
        buf_add(&stdio->out, "\n", 1, NULL) < 0)
        stdio->out.len = before;
    flush(stdio);
}

static void on_notice(void *user, const json_t *message)
{
    write_message(user, message);
}

/* --- exchanges --- */

static struct line *line_of(const struct mcp_exchange *exchange)
{
    return (struct line *)exchange;
}

static void on_send(struct mcp_exchange *exchange, const json_t *message)
{
    write_message(line_of(exchange)->stdio, message);
}

static bool is_behind(const struct mcp_exchange *exchange)
{
    return unwritten(line_of(exchange)->stdio) > OUT_HIGH;
}

static void free_line(struct line *line)
{
    LIST_REMOVE(line, link);
    free(line);
}

static void on_finish(struct mcp_exchange *exchange, const json_t *answer, int status)
{
    struct line *line = line_of(exchange);
    struct mcp_stdio *stdio = line->stdio;

    (void)status;
    free_line(line);
    write_message(stdio, answer);
    end_when_done(stdio);
}

/* --- in --- */

static void refuse(struct mcp_stdio *stdio, const char *words)
{
    json_t *answer = mcp_error_json(NULL, MCP_PARSE_ERROR, words);

    write_message(stdio, answer);
    json_decref(answer);
}

static void receive(struct mcp_stdio *stdio, const char *text, size_t len, bool is_cut)
{
    struct line *line;
    json_t *message, *answer = NULL;

    while (len && strchr(" \t\r", text[len - 1]))
        len--;
    if (!len)
        return;
    message = mcp_load(text, len, &answer);
    if (!message) {
        if (!is_cut) /* half a line at the end is nobody's */
            write_message(stdio, answer);
        json_decref(answer);
        return;
    }
    line = calloc(1, sizeof(*line));
    if (!line) {
        json_decref(message);
        refuse(stdio, "out of memory");
        return;
    }
    *line = (struct line){
        .exchange = {.send = on_send, .finish = on_finish, .is_behind = is_behind},
        .stdio = stdio,
    };
    LIST_INSERT_HEAD(&stdio->lines, line, link);
    mcp_peer_receive(stdio->peer, message, &line->exchange);
}

static void receive_lines(struct mcp_stdio *stdio)
{
    char *newline;
    size_t at = 0;

    while (
        !stdio->is_reported && stdio->in.len > stdio->scanned &&
        (newline = memchr(stdio->in.data + stdio->scanned, '\n', stdio->in.len - stdio->scanned))) {
        if (!stdio->is_skipping)
            receive(stdio, stdio->in.data + at, (size_t)(newline - stdio->in.data) - at, false);
        stdio->is_skipping = false;
        at = (size_t)(newline - stdio->in.data) + 1;
        stdio->scanned = at;
    }
    buf_consume(&stdio->in, at);
    stdio->scanned = stdio->in.len;
    if (stdio->in.len <= MCP_MESSAGE_BYTES)
        return;
    if (!stdio->is_skipping)
        refuse(stdio, "a line is longer than 16 MB");
    stdio->is_skipping = true;
    buf_clear(&stdio->in);
    stdio->scanned = 0;
}

static void on_grace(void *arg)
{
    end(arg);
}

static void on_input_end(struct mcp_stdio *stdio)
{
    stdio->is_over = true;
    loop_watch_free(stdio->readable);
    stdio->readable = NULL;
    if (!stdio->is_skipping)
        receive(stdio, buf_str(&stdio->in), stdio->in.len, true);
    buf_clear(&stdio->in);
    loop_timer_start(stdio->grace, GRACE_MS);
    end_when_done(stdio);
}

static void on_readable(void *arg)
{
    struct mcp_stdio *stdio = arg;
    ssize_t n;

    if (stdio->is_over || buf_reserve(&stdio->in, PIECE, NULL) < 0)
        return;
    n = read(stdio->options.in, stdio->in.data + stdio->in.len, PIECE);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
        watch_input(stdio);
        return;
    }
    if (n <= 0) {
        on_input_end(stdio);
        return;
    }
    stdio->in.len += (size_t)n;
    stdio->is_reading = true;
    receive_lines(stdio);
    stdio->is_reading = false;
    watch_input(stdio);
}

/* Files and /dev/null cannot be watched, and never have to be waited for. */
static void watch_input(struct mcp_stdio *stdio)
{
    bool is_full = unwritten(stdio) > OUT_FULL;

    if (is_full || stdio->is_over) {
        loop_watch_free(stdio->readable);
        stdio->readable = NULL;
        return;
    }
    if (stdio->is_reading || stdio->readable)
        return;
    stdio->readable =
        loop_watch_fd(stdio->options.loop, stdio->options.in, LOOP_READ, on_readable, stdio);
    if (!stdio->readable)
        loop_timer_start(stdio->again, 0);
}

/* --- life --- */

int mcp_stdio_open(const struct mcp_stdio_options *options, struct mcp_stdio **ret_stdio,
                   struct error *err)
{
    struct mcp_stdio *stdio = calloc(1, sizeof(*stdio));
    struct mcp_peer_options peer = {
        .owner = options->owner, .caller = options->caller, .send = on_notice, .user = stdio};

    if (!stdio)
        return error_memory(err);
    stdio->options = *options;
    buf_init(&stdio->in, MCP_MESSAGE_BYTES + 2 * PIECE);
    buf_init(&stdio->out,
             SIZE_MAX / 2); /* bounded by what may run at once, and not read while full */
    disk_hold_init(&stdio->hold, options->disk, &hold_events, stdio);
    stdio->flags = fcntl(options->out, F_GETFL);
    stdio->again = loop_timer(options->loop, on_readable, stdio);
    stdio->grace = loop_timer(options->loop, on_grace, stdio);
    if (!stdio->again || !stdio->grace ||
        mcp_peer_new(options->server, &peer, &stdio->peer, err) < 0) {
        mcp_stdio_free(stdio);
        return error_memory(err);
    }
    if (stdio->flags >= 0)
        (void)fcntl(options->out, F_SETFL, stdio->flags | O_NONBLOCK);
    watch_input(stdio);
    *ret_stdio = stdio;
    return 0;
}

void mcp_stdio_free(struct mcp_stdio *stdio)
{
    if (!stdio)
        return;
    stdio->is_reported = true;
    disk_hold_done(&stdio->hold);
    mcp_peer_free(stdio->peer);
    while (!LIST_EMPTY(&stdio->lines))
        free_line(LIST_FIRST(&stdio->lines));
    loop_watch_free(stdio->readable);
    loop_watch_free(stdio->writable);
    loop_watch_free(stdio->again);
    loop_watch_free(stdio->grace);
    if (stdio->flags >= 0)
        (void)fcntl(stdio->options.out, F_SETFL, stdio->flags);
    buf_done(&stdio->in);
    buf_done(&stdio->out);
    free(stdio);
}
