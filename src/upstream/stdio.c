/* A server that is a child of ours: one message a line, both ways. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/quote.h"
#include "upstream/child.h"
#include "upstream/message.h"
#include "upstream/wire.h"

#define PIECE (64 * KIB)

/* The most bytes that wait for a server that does not read. */
#define OUT_MAX (16 * MIB)

/* Of a line that is too long: where the id of its message stands, at one end or the other. */
#define EDGE ((size_t)512)

/* Bytes of the server's standard error for the log. */
#define WORDS_BYTES ((size_t)400)
#define WORDS_LINES 1000

/* Reads of what a server that has ended left in the pipe. */
#define LAST_READS 1024

struct stdio_wire {
    struct upstream_wire wire; /* the first, for stdio_of() */
    struct loop *loop;
    const char *name;
    struct child child;
    struct loop_watch *readable, *writable, *heard, *ended;
    struct buf in, out;
    size_t scanned; /* of `in`, without a newline */
    size_t written; /* of `out` */
    size_t skipped; /* bytes of a line that is too long; 0: none is */
    char edge[EDGE];
    size_t n_edge;
    char words[WORDS_BYTES]; /* the last line it said on its standard error */
    size_t n_words;
    bool is_new_line;
    unsigned n_lines;
    bool is_over; /* on_end was called */
};

static struct stdio_wire *stdio_of(struct upstream_wire *wire)
{
    return (struct stdio_wire *)wire;
}

/* --- the end --- */

static void stop_watching(struct stdio_wire *s)
{
    struct loop_watch **all[] = {&s->readable, &s->writable, &s->heard, &s->ended};

    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        loop_watch_free(*all[i]);
        *all[i] = NULL;
    }
}

static void read_words(struct stdio_wire *s);

static void end(struct stdio_wire *s, const char *why)
{
    cleanup_error struct error err = {0};
    cleanup_free char *words = NULL;

    if (s->is_over)
        return;
    s->is_over = true;
    read_words(s);
    stop_watching(s);
    words = s->n_words ? quote_words((struct span){s->words, s->n_words}, WORDS_BYTES) : NULL;
    error_set(&err, E_PROTOCOL, "server `%s` ended: %s%s%s", s->name, why,
              words ? "; its last output: " : "", words ? words : "");
    s->wire.events->on_end(s->wire.user, &err);
}

/* Its output ended; most often it is just about to. What is left to say how says so. */
static void on_output_end(struct stdio_wire *s)
{
    loop_watch_free(s->readable);
    s->readable = NULL;
    close_fd(&s->child.in);
}

/* --- its standard error --- */

static void say_words(struct stdio_wire *s)
{
    if (s->n_words && s->n_lines++ < WORDS_LINES) {
        char text[WORDS_BYTES + 1];

        (void)snprintf(text, sizeof(text), "%.*s", (int)s->n_words, s->words);
        LOG_EVENT(LOG_DEBUG, "server_stderr", {.key = "server", .text = s->name},
                  {.key = "text", .text = text});
    }
}

static void add_words(struct stdio_wire *s, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\n') {
            say_words(s);
            s->is_new_line = true;
            continue;
        }
        if (s->is_new_line)
            s->n_words = 0;
        s->is_new_line = false;
        if (s->n_words < sizeof(s->words))
            s->words[s->n_words++] = (char)(text[i] >= ' ' && text[i] != 0x7f ? text[i] : '?');
    }
}

static void read_words(struct stdio_wire *s)
{
    char text[4096];
    ssize_t n = read(s->child.err, text, sizeof(text));

    if (n > 0)
        add_words(s, text, (size_t)n);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        loop_watch_free(s->heard);
        s->heard = NULL;
    }
}

static void on_heard(void *arg)
{
    read_words(arg);
}

/* --- in --- */

static void lose(struct stdio_wire *s, uint64_t id, const struct error *err)
{
    if (id)
        s->wire.events->on_lost(s->wire.user, id, err);
}

static void receive(struct stdio_wire *s, const char *text, size_t len)
{
    cleanup_error struct error err = {0};
    json_t *message;

    while (len && strchr(" \t\r", text[len - 1]))
        len--;
    if (!len)
        return;
    message = upstream_message_load(text, len, &err);
    if (message) {
        s->wire.events->on_message(s->wire.user, message);
        json_decref(message);
        return;
    }
    LOG_EVENT(LOG_DEBUG, "server_junk", {.key = "server", .text = s->name},
              {.key = "error", .text = err.message});
    err.code = err.code == E_TOO_LARGE ? E_TOO_LARGE : E_PROTOCOL;
    error_wrap(&err, "the server's answer cannot be read");
    if (*text == '{')
        lose(s, upstream_message_guess(text, len), &err);
}

/* The last bytes of what is skipped. */
static void keep_edge(struct stdio_wire *s, const char *text, size_t len)
{
    size_t keep = len < EDGE ? len : EDGE;
    size_t old = s->n_edge < EDGE - keep ? s->n_edge : EDGE - keep;

    memmove(s->edge, s->edge + s->n_edge - old, old);
    memcpy(s->edge + old, text + len - keep, keep);
    s->n_edge = old + keep;
}

/* The rest of a line that is too long has come, or more of it. */
static void skip(struct stdio_wire *s, size_t len, bool is_end)
{
    cleanup_error struct error err = {0};

    keep_edge(s, s->in.data, len);
    s->skipped += len;
    if (!is_end)
        return;
    error_set(&err, E_TOO_LARGE, "the server's answer has %zu bytes, expected at most %zu",
              s->skipped, LIMIT_UPSTREAM_MESSAGE);
    error_hint(&err, "ask the tool for less at once");
    s->skipped = 0;
    lose(s, upstream_message_guess(s->edge, s->n_edge), &err);
    s->n_edge = 0;
}

static void receive_lines(struct stdio_wire *s)
{
    char *newline;

    while (!s->is_over && s->in.len > s->scanned &&
           (newline = memchr(s->in.data + s->scanned, '\n', s->in.len - s->scanned))) {
        size_t len = (size_t)(newline - s->in.data);

        if (s->skipped)
            skip(s, len, true);
        else
            receive(s, s->in.data, len);
        buf_consume(&s->in, len + 1);
        s->scanned = 0;
    }
    s->scanned = s->in.len;
    if (!s->skipped && s->in.len <= LIMIT_UPSTREAM_MESSAGE)
        return;
    if (!s->skipped) { /* its beginning may name the request */
        cleanup_error struct error err = {0};

        error_set(&err, E_TOO_LARGE, "the server's answer has more than %zu bytes",
                  LIMIT_UPSTREAM_MESSAGE);
        error_hint(&err, "ask the tool for less at once");
        lose(s, upstream_message_guess(s->in.data, EDGE), &err);
    }
    skip(s, s->in.len, false);
    buf_clear(&s->in);
    s->scanned = 0;
    if (s->skipped > LIMIT_UPSTREAM_LINE)
        end(s, "it sent an endless line");
}

/* Whether there may be more. */
static bool read_some(struct stdio_wire *s)
{
    ssize_t n;

    if (!s->readable || s->is_over || buf_reserve(&s->in, PIECE, NULL) < 0)
        return false;
    n = read(s->child.out, s->in.data + s->in.len, PIECE);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return false;
    if (n <= 0) {
        on_output_end(s);
        return false;
    }
    s->in.len += (size_t)n;
    receive_lines(s);
    return true;
}

static void on_readable(void *arg)
{
    (void)read_some(arg);
}

static void on_gone(void *arg)
{
    struct stdio_wire *s = arg;
    char words[32] = "";

    if (!child_reap(&s->child, words))
        return;
    for (int i = 0; i < LAST_READS && read_some(s); i++)
        ;
    end(s, words);
}

/* --- out --- */

static void flush(struct stdio_wire *s);

static void on_writable(void *arg)
{
    flush(arg);
}

static void flush(struct stdio_wire *s)
{
    while (s->child.in >= 0 && s->written < s->out.len) {
        ssize_t n = write(s->child.in, s->out.data + s->written, s->out.len - s->written);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) {
            if (!s->writable)
                s->writable = loop_watch_fd(s->loop, s->child.in, LOOP_WRITE, on_writable, s);
            return;
        }
        if (n < 0) /* it does not read any more: its end is near */
            break;
        s->written += (size_t)n;
    }
    buf_clear(&s->out);
    s->written = 0;
    loop_watch_free(s->writable);
    s->writable = NULL;
}

static int stdio_send(struct upstream_wire *wire, const json_t *message, uint64_t id,
                      struct error *err)
{
    struct stdio_wire *s = stdio_of(wire);
    size_t before;

    (void)id;
    if (s->is_over || s->child.in < 0)
        return error_set(err, E_PROTOCOL, "server `%s` has ended", s->name);
    buf_consume(&s->out, s->written);
    s->written = 0;
    before = s->out.len;
    if (json_text_dump(message, JSON_TEXT_COMPACT, &s->out, NULL) < 0 ||
        buf_add(&s->out, "\n", 1, NULL) < 0) {
        s->out.len = before;
        return error_set(err, E_BUSY, "server `%s` does not read its input", s->name);
    }
    flush(s);
    return 0;
}

static void stdio_forget(struct upstream_wire *wire, uint64_t id)
{
    (void)wire;
    (void)id;
}

static void stdio_free(struct upstream_wire *wire)
{
    struct stdio_wire *s = stdio_of(wire);

    s->is_over = true;
    stop_watching(s);
    child_done(&s->child, s->wire.patience_ms);
    buf_done(&s->in);
    buf_done(&s->out);
    free(s);
}

static int watch(struct stdio_wire *s, struct error *err)
{
    s->readable = loop_watch_fd(s->loop, s->child.out, LOOP_READ, on_readable, s);
    s->heard = loop_watch_fd(s->loop, s->child.err, LOOP_READ, on_heard, s);
    s->ended = loop_watch_fd(s->loop, s->child.pidfd, LOOP_READ, on_gone, s);
    return s->readable && s->heard && s->ended ? 0 : error_memory(err);
}

int upstream_stdio_open(struct loop *loop, struct resolver *resolver,
                        const struct config_server *server, const struct upstream_events *events,
                        void *user, struct upstream_wire **ret_wire, struct error *err)
{
    static const struct upstream_wire_ops ops = {stdio_send, stdio_forget, stdio_free};
    const struct child_options options = {server->argv, server->env, server->cwd};
    struct stdio_wire *s = calloc(1, sizeof(*s));

    (void)resolver;
    if (!s)
        return error_memory(err);
    s->wire = (struct upstream_wire){.ops = &ops, .events = events, .user = user};
    s->loop = loop;
    s->name = server->name;
    s->child = CHILD_NONE;
    buf_init(&s->in, LIMIT_UPSTREAM_MESSAGE + 2 * PIECE);
    buf_init(&s->out, OUT_MAX);
    if (child_start(&options, &s->child, err) < 0 || watch(s, err) < 0) {
        stdio_free(&s->wire);
        return -1;
    }
    *ret_wire = &s->wire;
    return 0;
}
