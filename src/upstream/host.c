/* The operator's own functions as the tools of one more server, which is in this very process: each
 * call is a program with fixed arguments, checked values in their places, and the same values as
 * JSON on its standard input; or it is a request to a fixed host. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/config_function.h"
#include "base/json.h"
#include "base/json_schema.h"
#include "base/limits.h"
#include "upstream/child.h"
#include "upstream/wire.h"

#define OUTPUT_MAX MIB
#define WORDS_MAX  400 /* of standard error, for the message */
#define PIECE      (64 * KIB)
#define MINUTE_NS  (60 * 1000000000ULL)
#define ARGV_MAX   129
#define DEPTH_MAX  64
#define LAST_READS 64

struct host_wire;

/* One program under way, or an answer that is due. */
struct host_call {
    struct host_wire *wire;
    struct host_call *next;
    uint64_t id;
    const struct config_function *function; /* NULL: the answer is there */
    json_t *answer;
    struct child child;
    struct buf in, out;
    size_t written;
    char words[WORDS_MAX + 1];
    size_t n_words;
    struct loop_watch *readable, *writable, *heard, *ended, *clock;
    bool is_late, is_too_long;
};

struct host_wire {
    struct upstream_wire wire; /* the first, for host_of() */
    struct loop *loop;
    const struct config_server *server;
    struct host_call *calls;
    /* Calls of each function in the minute that began then. */
    uint64_t minutes[CONFIG_FUNCTIONS_MAX];
    double counts[CONFIG_FUNCTIONS_MAX];
};

static struct host_wire *host_of(struct upstream_wire *wire)
{
    return (struct host_wire *)wire;
}

/* --- the end of a call --- */

static void free_call(struct host_call *c)
{
    struct host_call **at = &c->wire->calls;

    while (*at && *at != c)
        at = &(*at)->next;
    if (*at)
        *at = c->next;
    loop_watch_free(c->readable);
    loop_watch_free(c->writable);
    loop_watch_free(c->heard);
    loop_watch_free(c->ended);
    loop_watch_free(c->clock);
    child_done(&c->child, 0);
    buf_done(&c->in);
    buf_done(&c->out);
    json_decref(c->answer);
    free(c);
}

/* The call is gone afterwards. */
static void deliver(struct host_call *c, json_t *result)
{
    json_t *message =
        json_pack("{s:s, s:I, s:o}", "jsonrpc", "2.0", "id", (json_int_t)c->id, "result", result);
    struct host_wire *h = c->wire;

    free_call(c);
    if (message)
        h->wire.events->on_message(h->wire.user, message);
    json_decref(message);
}

static json_t *text_result(const char *text, size_t len, bool is_error)
{
    return json_pack("{s:[{s:s, s:o}], s:b}", "content", "type", "text", "text",
                     json_text_string(text, len), "isError", (int)is_error);
}

static json_t *error_result(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static json_t *error_result(const char *fmt, ...)
{
    cleanup_free char *text = NULL;
    va_list args;
    int len;

    va_start(args, fmt);
    len = vasprintf(&text, fmt, args);
    va_end(args);
    if (len < 0)
        text = NULL; /* undefined after a failure */
    return text ? text_result(text, (size_t)len, true) : NULL;
}

/* JSON is data, anything else is text. */
static json_t *output_result(const struct buf *out)
{
    static const struct json_text_limits limits = {
        .bytes = OUTPUT_MAX, .depth = DEPTH_MAX, .allows_nul = true, .allows_scalar = true};
    json_t *result = text_result(buf_str(out), out->len, false);
    json_t *value = NULL;

    if (json_text_load(buf_str(out), out->len, &limits, &value, NULL) == 0)
        (void)json_object_set_new(result, "structuredContent", value);
    return result;
}

static json_t *outcome(const struct host_call *c, const char *how)
{
    const char *name = c->function->name;

    if (c->is_late)
        return error_result("`%s` did not end within %.0f seconds", name, c->function->timeout_s);
    if (c->is_too_long)
        return error_result("`%s` printed more than %zu bytes", name, (size_t)OUTPUT_MAX);
    if (strcmp(how, "exit code 0") != 0)
        return error_result("`%s` failed with %s%s%s", name, how, c->n_words ? ": " : "", c->words);
    return output_result(&c->out);
}

/* --- its pipes --- */

/* False: the call is over and gone. */
static bool take_output(struct host_call *c)
{
    char piece[PIECE];
    ssize_t n = read(c->child.out, piece, sizeof(piece));

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (n > 0 && buf_add(&c->out, piece, (size_t)n, NULL) == 0)
        return true;
    c->is_too_long = n > 0;
    loop_watch_free(c->readable);
    c->readable = NULL;
    if (c->is_too_long)
        deliver(c, outcome(c, ""));
    return !(n > 0);
}

static void on_readable(void *arg)
{
    (void)take_output(arg);
}

static void on_heard(void *arg)
{
    struct host_call *c = arg;
    char piece[4096];
    ssize_t n = read(c->child.err, piece, sizeof(piece));

    for (ssize_t i = 0; i < n && c->n_words < WORDS_MAX; i++)
        c->words[c->n_words++] = (char)(piece[i] >= ' ' && piece[i] != 0x7f ? piece[i] : ' ');
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        loop_watch_free(c->heard);
        c->heard = NULL;
    }
}

static void on_writable(void *arg)
{
    struct host_call *c = arg;
    ssize_t n = write(c->child.in, c->in.data + c->written, c->in.len - c->written);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    c->written = n < 0 ? c->in.len : c->written + (size_t)n; /* one that does not read is fine */
    if (c->written < c->in.len)
        return;
    loop_watch_free(c->writable);
    c->writable = NULL;
    close_fd(&c->child.in);
}

static void on_ended(void *arg)
{
    struct host_call *c = arg;
    char how[32] = "";

    if (!child_reap(&c->child, how))
        return;
    /* The rest in the pipe: nobody writes to it any longer, or somebody does for ever. */
    for (int i = 0; i < LAST_READS && c->readable; i++) {
        size_t before = c->out.len;

        if (!take_output(c))
            return;
        if (c->out.len == before)
            break;
    }
    if (c->heard)
        on_heard(c);
    while (c->n_words && c->words[c->n_words - 1] == ' ')
        c->words[--c->n_words] = '\0';
    deliver(c, outcome(c, how));
}

static void on_clock(void *arg)
{
    struct host_call *c = arg;

    c->is_late = c->function != NULL;
    deliver(c, c->function ? outcome(c, "") : json_incref(c->answer));
}

/* --- its beginning --- */

/* A value as text, whatever it is. */
static int add_text(struct buf *word, const char *name, const json_t *value, struct error *err)
{
    cleanup_free char *text =
        json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    const char *as = json_is_string(value) ? json_string_value(value) : text;

    if (!as)
        return value ? error_memory(err) : 0; /* left out: nothing */
    if (json_is_string(value) && strlen(as) != json_string_length(value))
        return error_set(err, E_INVALID, "`%s` has a NUL", name);
    return buf_add_str(word, as, err);
}

/* A value as a word of a command. No value of any type begins it with a dash: a negative number is
 * as good an option as a text. */
static int add_value(struct buf *word, const char *name, const json_t *value, struct error *err)
{
    bool is_first = !word->len;

    if (add_text(word, name, value, err) < 0)
        return -1;
    if (!is_first || !word->len || word->data[0] != '-')
        return 0;
    error_set(err, E_INVALID, "`%s` begins with a dash, and would be taken for an option", name);
    return error_hint(
        err,
        "the operator can put the parameter after `--name=`, or after a word `--` of the command");
}

/* A value as a part of a URL, in which it stands for itself and nothing else. */
static int add_encoded(struct buf *url, const char *name, const json_t *value, struct error *err)
{
    cleanup(buf_done) struct buf plain = BUF_OF(MIB);

    if (buf_add(&plain, "=", 1, err) < 0 || add_text(&plain, name, value, err) < 0)
        return -1;
    for (size_t i = 1; i < plain.len; i++) {
        unsigned char c = (unsigned char)plain.data[i];
        int r = isalnum(c) || strchr("-_~", c) ? buf_add(url, &c, 1, err)
                                               : buf_printf(url, err, "%%%02X", c);

        if (r < 0)
            return -1;
    }
    return 0;
}

/* "--id={id}" with the arguments in their places. */
static char *fill(const char *template, const json_t *arguments,
                  int (*add)(struct buf *word, const char *name, const json_t *value,
                             struct error *err),
                  struct error *err)
{
    cleanup(buf_done) struct buf word;

    buf_init(&word, MIB);
    while (*template) {
        size_t plain = strcspn(template, "{");
        const char *close = strchr(template + plain, '}');
        char name[64];

        if (buf_add(&word, template, plain, err) < 0)
            return NULL;
        template += plain;
        if (!*template || !close)
            break;
        (void)snprintf(name, sizeof(name), "%.*s", (int)(close - template) - 1, template + 1);
        if (add(&word, name, json_object_get(arguments, name), err) < 0)
            return NULL;
        template = close + 1;
    }
    return strdup(buf_str(&word));
}

/* The words of the command, and on its standard input the arguments. */
static int start_command(struct host_call *c, const json_t *arguments, struct error *err)
{
    char *argv[ARGV_MAX] = {0};
    const struct child_options options = {.argv = argv};
    bool has_ended = false; /* the operator's own `--` ends the options */
    size_t n = 0;
    int r = 0;

    for (char **word = c->function->argv; r == 0 && *word && n < ARGV_MAX - 1; word++) {
        argv[n] = fill(*word, arguments, has_ended ? add_text : add_value, err);
        r = argv[n++] ? 0 : -1;
        has_ended |= strcmp(*word, "--") == 0;
    }
    if (r == 0)
        r = child_start(&options, &c->child, err);
    while (n)
        free(argv[--n]);
    return r < 0 ? -1 : json_text_dump(arguments, JSON_TEXT_COMPACT, &c->in, err);
}

/* Arguments that stand in the URL are not in the body, too. */
static json_t *body_of(const char *method, const char *url, const json_t *arguments)
{
    json_t *body =
        strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0 || strcmp(method, "DELETE") == 0
            ? NULL
            : json_copy((json_t *)arguments);
    const char *name;
    json_t *value;
    void *next;

    json_object_foreach_safe(body, next, name, value)
    {
        cleanup_free char *place = NULL;

        if (asprintf(&place, "{%s}", name) >= 0 && strstr(url, place))
            (void)json_object_del(body, name);
    }
    return body ? body : json_null();
}

/* Starts `belljar --fetch`, which trusts the certificates that we trust. */
static int start_fetch(struct host_call *c, struct error *err)
{
    static const char *const names[] = {"SSL_CERT_FILE", "SSL_CERT_DIR"};
    char *argv[] = {(char *)"/proc/self/exe", (char *)"--fetch", NULL};
    char *env[ARRAY_SIZE(names) + 1] = {0};
    const struct child_options options = {.argv = argv, .env = env};
    size_t count = 0;
    int r = 0;

    for (size_t i = 0; i < ARRAY_SIZE(names) && r == 0; i++)
        if (getenv(names[i]))
            r = asprintf(&env[count++], "%s=%s", names[i], getenv(names[i])) < 0 ? -1 : 0;
    if (r < 0)
        env[--count] = NULL;
    r = r < 0 ? error_memory(err) : child_start(&options, &c->child, err);
    while (count)
        free(env[--count]);
    return r;
}

/* This program, executed anew to ask (cli/fetch.c): keys in headers do not stand among its words.
 */
static int start_request(struct host_call *c, const json_t *arguments, struct error *err)
{
    const char *url = strchr(c->function->request, ' ') + 1;
    cleanup_free char *method =
        strndup(c->function->request, (size_t)(url - c->function->request) - 1);
    cleanup_free char *filled = fill(url, arguments, add_encoded, err);
    cleanup_json json_t *headers = json_array();
    cleanup_json json_t *request = NULL;

    if (!filled || !method)
        return filled ? error_memory(err) : -1;
    for (char **header = c->function->headers; header && *header; header++)
        (void)json_array_append_new(headers, json_string(*header));
    request = json_pack("{s:s, s:s, s:O, s:o*}", "method", method, "url", filled, "headers",
                        headers, "body", body_of(method, url, arguments));
    if (json_is_null(json_object_get(request, "body")))
        (void)json_object_del(request, "body");
    if (!request)
        return error_memory(err);
    if (json_text_dump(request, JSON_TEXT_COMPACT, &c->in, err) < 0)
        return -1;
    return start_fetch(c, err);
}

static int start(struct host_call *c, const json_t *arguments, struct error *err)
{
    if ((c->function->argv ? start_command : start_request)(c, arguments, err) < 0)
        return -1;
    c->readable = loop_watch_fd(c->wire->loop, c->child.out, LOOP_READ, on_readable, c);
    c->heard = loop_watch_fd(c->wire->loop, c->child.err, LOOP_READ, on_heard, c);
    c->ended = loop_watch_fd(c->wire->loop, c->child.pidfd, LOOP_READ, on_ended, c);
    c->writable = loop_watch_fd(c->wire->loop, c->child.in, LOOP_WRITE, on_writable, c);
    if (!c->readable || !c->heard || !c->ended || !c->writable)
        return error_memory(err);
    loop_timer_start(c->clock, (uint64_t)(c->function->timeout_s * 1000));
    return 0;
}

static int count(struct host_wire *h, size_t i, struct error *err)
{
    const struct config_function *f = &h->server->functions[i];

    if (loop_now_ns() - h->minutes[i] > MINUTE_NS) {
        h->minutes[i] = loop_now_ns();
        h->counts[i] = 0;
    }
    if (!f->per_minute || h->counts[i]++ < f->per_minute)
        return 0;
    error_set(err, E_BUSY, "`%s` may be called %.0f times a minute", f->name, f->per_minute);
    return error_hint(err, "wait a little");
}

/* The session is ours to say, and no argument. */
static int validate(const struct config_function *f, const json_t *arguments, struct error *err)
{
    json_t *said = json_copy((json_t *)arguments);
    int r = said ? 0 : error_memory(err);

    if (r == 0 && f->session)
        (void)json_object_del(said, f->session);
    if (r == 0)
        r = json_schema_validate(f->schema, said, f->name, err);
    json_decref(said);
    return r;
}

static int begin(struct host_call *c, const json_t *params, struct error *err)
{
    const char *name = json_string_value(json_object_get(params, "name"));
    const json_t *arguments = json_object_get(params, "arguments");
    const struct config_server *server = c->wire->server;

    for (size_t i = 0; name && i < server->n_functions; i++) {
        if (strcmp(server->functions[i].name, name) != 0)
            continue;
        if (validate(&server->functions[i], arguments, err) < 0 || count(c->wire, i, err) < 0)
            return -1;
        c->function = &server->functions[i];
        return start(c, arguments, err);
    }
    return error_set(err, E_NOT_FOUND, "there is no such function");
}

/* --- what it has --- */

static json_t *describe(const struct config_function *f)
{
    bool is_safe = f->severity && strcmp(f->severity, "read_only") == 0;
    bool is_bad = f->severity && strcmp(f->severity, "destructive") == 0;

    return json_pack("{s:s, s:s, s:O, s:{s:b, s:b}}", "name", f->name, "description",
                     f->description, "inputSchema", f->schema, "annotations", "readOnlyHint",
                     (int)is_safe, "destructiveHint", (int)is_bad);
}

static json_t *list(const struct host_wire *h)
{
    json_t *tools = json_array();

    for (size_t i = 0; i < h->server->n_functions; i++)
        (void)json_array_append_new(tools, describe(&h->server->functions[i]));
    return json_pack("{s:o}", "tools", tools);
}

static json_t *introduce(void)
{
    return json_pack("{s:s, s:{s:{}}, s:{s:s, s:s}}", "protocolVersion", "2025-11-25",
                     "capabilities", "tools", "serverInfo", "name", "host", "version",
                     BELLJAR_VERSION);
}

static void answer(struct host_call *c, const char *method, const json_t *params)
{
    cleanup_error struct error err = {0};

    if (strcmp(method, "tools/call") == 0) {
        if (begin(c, params, &err) == 0)
            return;
        c->function = NULL;
        c->answer = error_result("%s%s%s", error_message(&err), err.hint ? "; " : "",
                                 err.hint ? err.hint : "");
    } else {
        c->answer = strcmp(method, "tools/list") == 0 ? list(c->wire) : introduce();
    }
    loop_timer_start(c->clock, 0);
}

static int host_send(struct upstream_wire *wire, const json_t *message, uint64_t id,
                     struct error *err)
{
    struct host_wire *h = host_of(wire);
    struct host_call *c = id ? calloc(1, sizeof(*c)) : NULL;

    if (!id)
        return 0;
    if (!c)
        return error_memory(err);
    *c = (struct host_call){.wire = h, .id = id, .child = CHILD_NONE, .next = h->calls};
    h->calls = c;
    buf_init(&c->in, 2 * MIB);
    buf_init(&c->out, OUTPUT_MAX);
    c->clock = loop_timer(h->loop, on_clock, c);
    if (!c->clock) {
        free_call(c);
        return error_memory(err);
    }
    answer(c, json_string_value(json_object_get(message, "method")),
           json_object_get(message, "params"));
    return 0;
}

static void host_forget(struct upstream_wire *wire, uint64_t id)
{
    for (struct host_call *c = host_of(wire)->calls; c; c = c->next)
        if (c->id == id) {
            free_call(c);
            return;
        }
}

static void host_free(struct upstream_wire *wire)
{
    struct host_wire *h = host_of(wire);

    while (h->calls)
        free_call(h->calls);
    free(h);
}

int upstream_host_open(struct loop *loop, struct resolver *resolver,
                       const struct config_server *server, const struct upstream_events *events,
                       void *user, struct upstream_wire **ret_wire, struct error *err)
{
    static const struct upstream_wire_ops ops = {host_send, host_forget, host_free};
    struct host_wire *h = calloc(1, sizeof(*h));

    (void)resolver;
    if (!h)
        return error_memory(err);
    h->wire = (struct upstream_wire){.ops = &ops, .events = events, .user = user};
    h->loop = loop;
    h->server = server;
    *ret_wire = &h->wire;
    return 0;
}
