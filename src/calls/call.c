#include "calls/call.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/quote.h"
#include "calls/outside.h"
#include "wire/frame.h"

#define DEPTH_MAX 100

/* The bytes of a reply beside its text: a frame's header, number, word, length. */
#define REPLY_HEAD (FRAME_HEADER + 32)

/* Room for a few words where there is none for an answer. */
#define WORDS_MAX (64 * KIB)

/* Arguments of calls that wait. Beyond it the first of them is answered at once. */
#define WAITING_BYTES (4 * MIB)

static const struct call_row *const tables[] = {call_state_rows,   call_skill_rows,
                                                call_apis_rows,    call_server_rows,
                                                call_package_rows, call_input_rows};

struct call_desk {
    struct call_desk_options options;
    struct call *calls; /* under way */
    size_t n_calls;
    uint64_t n_in_run;
    struct call *first_waiting, *last_waiting; /* of them, for their turn */
    size_t waiting_bytes;
    struct loop_work work;
    struct buf pending; /* what the pipe did not take */
    struct loop_watch *writer;
    bool is_deaf;    /* nobody will read any more */
    bool is_unheard; /* nobody answered a question of this run */
};

/* --- the way back --- */

static void on_writable(void *arg)
{
    struct call_desk *desk = arg;
    ssize_t n = write(desk->options.fd, desk->pending.data, desk->pending.len);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < 0)
        desk->is_deaf = true;
    else
        buf_consume(&desk->pending, (size_t)n);
    if (desk->is_deaf || desk->pending.len == 0) {
        loop_watch_free(desk->writer);
        desk->writer = NULL;
        buf_done(&desk->pending);
        buf_init(&desk->pending, LIMIT_REPLIES_BYTES + WORDS_MAX);
    }
}

static bool enqueue_text(struct call_desk *desk, uint64_t id, bool is_ok, struct span value)
{
    return buf_reserve(&desk->pending, value.len + REPLY_HEAD, NULL) == 0 &&
           buf_printf(&desk->pending, NULL, WIRE_REPLY_TEXT, id, (int)is_ok, (int)value.len,
                      value.data) == 0 &&
           buf_add(&desk->pending, "", 1, NULL) == 0;
}

static bool enqueue(struct call_desk *desk, uint64_t id, bool is_ok, struct span value)
{
    uint8_t head[FRAME_HEADER];
    struct pack p;
    bool is_added;

    if (desk->options.on_reply) {
        desk->options.on_reply(desk->options.user, id, is_ok, value);
        return true;
    }
    if (desk->options.is_text)
        return enqueue_text(desk, id, is_ok, value);
    pack_init(&p, wire_type_max(WIRE_REPLY));
    wire_pack_reply(&p, &(struct wire_reply){id, is_ok, value});
    frame_header(head, WIRE_REPLY, (uint32_t)p.len);
    is_added = !p.failed && buf_reserve(&desk->pending, FRAME_HEADER + p.len, NULL) == 0 &&
               buf_add(&desk->pending, head, FRAME_HEADER, NULL) == 0 &&
               buf_add(&desk->pending, p.data, p.len, NULL) == 0;
    pack_done(&p);
    return is_added;
}

static void send(struct call_desk *desk)
{
    if (desk->writer || !desk->pending.len)
        return;
    desk->writer =
        loop_watch_fd(desk->options.loop, desk->options.fd, LOOP_WRITE, on_writable, desk);
    if (!desk->writer)
        desk->is_deaf = true; /* the program waits, until its time is over */
    else
        on_writable(desk);
}

static bool reply_error(struct call_desk *desk, uint64_t id, const struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(WORDS_MAX / 2);
    json_t *object =
        json_pack("{s:s, s:s}", "code", error_code_name(err->code), "message", error_message(err));
    bool is_sent;

    if (err->hint)
        (void)json_object_set_new(object, "hint", json_string(err->hint));
    is_sent = object && json_text_dump(object, JSON_TEXT_COMPACT, &text, NULL) == 0 &&
              enqueue(desk, id, false, (struct span){buf_str(&text), text.len});
    json_decref(object);
    return is_sent;
}

/* The text of an answer that can be sent. */
static int compose(struct call_desk *desk, const json_t *value, struct buf *text, struct error *err)
{
    buf_init(text, wire_type_max(WIRE_REPLY) - REPLY_HEAD);
    if (!value)
        return error_memory(err);
    if (json_text_dump(value, JSON_TEXT_COMPACT, text, err) < 0) {
        if (err->code != E_TOO_LARGE)
            return -1;
        error_done(err);
        error_set(err, E_TOO_LARGE, "the answer is larger than %zu MiB",
                  wire_type_max(WIRE_REPLY) / MIB);
        return error_hint(err, "ask for a part of it");
    }
    if (desk->pending.len + text->len + REPLY_HEAD <= LIMIT_REPLIES_BYTES)
        return 0;
    error_set(err, E_BUSY, "answers to earlier calls wait to be read");
    return error_hint(err, "fewer threads at once, or smaller answers");
}

/* --- the end of a call --- */

static void forget(struct call *call)
{
    struct call **at = &call->desk->calls;

    while (*at && *at != call)
        at = &(*at)->next;
    if (*at) {
        *at = call->next;
        call->desk->n_calls--;
    }
    json_decref(call->arguments);
    free(call->text);
    free(call->name);
    free(call);
}

static int record(const struct call *call, size_t bytes, const struct error *outcome,
                  struct error *err)
{
    struct call_record record = {
        .run = call->run,
        .name = call->name,
        .bytes_in = call->bytes,
        .bytes_out = bytes,
        .digest = call->digest,
        .approval = call->approval,
        .hidden = call->hidden,
        .decided_by = call->decided_by,
        .ms = (double)(loop_now_ns() - call->begun_ns) / 1e6,
        .error = outcome,
    };

    return call->desk->options.record(call->desk->options.user, &record, err);
}

/* A call that could not be recorded is not answered with its result. */
static void finish(struct call *call, struct buf *text, struct error *err)
{
    struct call_desk *desk = call->desk;
    struct error trouble = {0};
    bool is_sent = desk->is_deaf;

    if (record(call, text->len, err, &trouble) < 0) {
        error_done(err);
        error_move(err, &trouble);
    }
    if (!is_sent && err->code == E_NONE)
        is_sent = enqueue(desk, call->id, true, (struct span){buf_str(text), text->len});
    if (!is_sent && err->code == E_NONE)
        error_memory(err);
    if (!is_sent && !reply_error(desk, call->id, err))
        desk->is_deaf = true;
    error_done(err);
    forget(call);
    if (!desk->is_deaf)
        send(desk);
}

void call_answer(struct call *call, json_t *value)
{
    cleanup(buf_done) struct buf text = {0};
    struct error err = {0};

    if (compose(call->desk, value, &text, &err) < 0)
        buf_clear(&text);
    json_decref(value);
    finish(call, &text, &err);
}

void call_fail(struct call *call, struct error *err)
{
    struct buf nothing = {0};

    if (err->code == E_NONE)
        error_set(err, E_INTERNAL, "it failed without a reason");
    finish(call, &nothing, err);
}

void call_ask(struct call *call, struct approval *approval)
{
    if (call->desk->options.on_ask)
        call->desk->options.on_ask(call->desk->options.user, approval);
}

void call_asked(struct call *call, const struct approval *approval)
{
    if (call->desk->options.on_asked)
        call->desk->options.on_asked(call->desk->options.user, approval);
}

void call_want_line(struct call *call)
{
    call->desk->options.on_line_wanted(call->desk->options.user, call);
}

void call_note_answer(struct call *call, const struct approval *approval,
                      enum approval_answer answer)
{
    static const char *const words[] = {[APPROVAL_YES] = "yes",
                                        [APPROVAL_NO] = "no",
                                        [APPROVAL_LATE] = "late",
                                        [APPROVAL_ALWAYS] = "yes"};

    call->approval = words[answer];
    call->hidden = approval->hidden;
    memcpy(call->decided_by, approval->by, sizeof(call->decided_by));
    if (answer == APPROVAL_LATE)
        call_set_unheard(call);
}

bool call_cannot_ask(const struct call *call, const char *what, const char *hint, struct error *err)
{
    if (call_is_unheard(call)) {
        error_set(err, E_DENIED,
                  "%s needs approval, and an earlier question of this run was not answered in time",
                  what);
        error_hint(err, "continue without it, or ask to run again when somebody can approve");
        return true;
    }
    if (call->run->origin.can_ask)
        return false;
    error_set(err, E_DENIED, "%s needs approval, and nobody can be asked here", what);
    error_hint(err, "%s", hint);
    return true;
}

struct loop *call_loop(const struct call *call)
{
    return call->desk->options.loop;
}

struct outside *call_outside(const struct call *call)
{
    return call->desk->options.outside;
}

void call_set_unheard(struct call *call)
{
    call->desk->is_unheard = true;
}

bool call_is_unheard(const struct call *call)
{
    return call->desk->is_unheard;
}

static void cancel(struct call *call)
{
    struct error err = {0};

    if (call->on_cancel)
        call->on_cancel(call);
    error_set(&err, E_BUSY, "the program ended before it was answered");
    call_fail(call, &err);
}

void call_desk_end_run(struct call_desk *desk)
{
    if (!desk)
        return;
    loop_work_cancel(&desk->work);
    desk->first_waiting = desk->last_waiting = NULL;
    desk->waiting_bytes = 0;
    while (desk->calls)
        cancel(desk->calls);
    desk->n_in_run = 0;
    desk->is_unheard = false;
}

/* --- the beginning --- */

/* Only what can be a name is looked for, told and written down. */
static bool is_name(struct span name)
{
    if (!name.len || name.len > WIRE_CALL_NAME_MAX)
        return false;
    for (size_t i = 0; i < name.len; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-",
                    name.data[i]) ||
            !name.data[i])
            return false;
    return true;
}

static bool fits(const struct call_row *row, const char *name)
{
    size_t len = strlen(row->name);

    return row->name[len - 1] == '.' ? strncmp(row->name, name, len) == 0 && name[len]
                                     : strcmp(row->name, name) == 0;
}

static const struct call_row *find_in(const struct call_row *rows, const char *name)
{
    while (rows && rows->name && !fits(rows, name))
        rows++;
    return rows && rows->name ? rows : NULL;
}

/* Names, arguments and rights are looked at outside. */
static void forward(struct call *call)
{
    const struct call_desk_options *options = &call->desk->options;
    struct error err = {0};

    if (options->on_forward && call->run->on_event) {
        options->on_forward(options->user, call);
        return;
    }
    error_set(&err, E_UNSUPPORTED, "`%s` needs a client that follows the events of the run",
              call->name);
    call_fail(call, &err);
}

static const struct call_row forwarded = {.name = "?", .handle = forward};

static bool is_forwarded(const struct call *call)
{
    const struct call_desk_options *options = &call->desk->options;

    return options->outside && options->outside->is_forwarded && !options->is_for_input &&
           !find_in(call_input_rows, call->name);
}

static int find_row(struct call *call, struct error *err)
{
    const struct call_row *row = is_forwarded(call) ? &forwarded : NULL;

    for (size_t i = 0; i < ARRAY_SIZE(tables) && !row; i++)
        row = find_in(tables[i], call->name);
    if (!row)
        row = find_in(call->desk->options.more, call->name);
    if (row && call->desk->options.is_for_input && row != call_input_rows) {
        error_set(err, E_DENIED, "`%s` is for Python cells", call->name);
        return error_hint(err, "call it from a Python cell of the session");
    }
    call->row = row;
    if (row)
        return 0;
    error_set(err, E_NOT_FOUND, "there is no call `%s`", call->name);
    return error_hint(err, "api.list_available_apis() lists the available calls");
}

static int check_grant(const struct call *call, struct error *err)
{
    if (!call->row->grant || (call->run->terms.reach & call->row->grant))
        return 0;
    error_set(err, E_DENIED, "`%s` is not granted to programs of the profile `%s`", call->name,
              call->run->terms.profile ? call->run->terms.profile : "");
    return error_hint(err, "it takes `calls = [\"%s\"]` in the profile's [grants]",
                      run_reach_name(call->row->grant));
}

static bool is_of_kind(const json_t *value, const struct call_field *field)
{
    switch (field->kind) {
    case CALL_TEXT:
        return json_is_string(value);
    case CALL_NUMBER:
        return json_is_integer(value);
    case CALL_OBJECT:
        return json_is_object(value);
    case CALL_FLAG:
        return json_is_boolean(value);
    }
    return false;
}

static int check_field(const struct call *call, const struct call_field *field, struct error *err)
{
    static const char *const kinds[] = {"a text", "a whole number", "an object", "true or false"};
    const json_t *value = json_object_get(call->arguments, field->name);

    /* None is what a program passes for nothing. */
    if (!value || json_is_null(value))
        return field->is_required
                   ? error_set(err, E_INVALID, "`%s` needs `%s`", call->name, field->name)
                   : 0;
    if (!is_of_kind(value, field))
        return error_set(err, E_INVALID, "`%s` must be %s", field->name, kinds[field->kind]);
    if (field->kind == CALL_TEXT && field->max && json_string_length(value) > field->max)
        return error_set(err, E_TOO_LARGE, "`%s` has more than %zu bytes", field->name, field->max);
    if (field->kind == CALL_TEXT && strlen(json_string_value(value)) != json_string_length(value))
        return error_set(err, E_INVALID, "`%s` has a NUL", field->name);
    return 0;
}

#define KEY_SHOWN 64 /* bytes of an unknown argument's name */

static int no_argument(const struct call *call, const char *key, struct error *err)
{
    cleanup_free char *words = quote_words((struct span){key, strlen(key)}, KEY_SHOWN);

    return error_set(err, E_INVALID, "`%s` has no argument %s", call->name, words ? words : "");
}

static int check_arguments(const struct call *call, struct error *err)
{
    const struct call_field *field;
    const char *key;
    json_t *value;

    for (field = call->row->fields; field && field->name; field++)
        if (check_field(call, field, err) < 0)
            return -1;
    json_object_foreach(call->arguments, key, value)
    {
        for (field = call->row->fields; field && field->name; field++)
            if (strcmp(field->name, key) == 0)
                break;
        if (field && !field->name)
            return no_argument(call, key, err);
    }
    return 0;
}

static int read_arguments(struct call *call, struct span text, struct error *err)
{
    static const struct json_text_limits limits = {
        .bytes = 2 * MIB, .depth = DEPTH_MAX, .allows_nul = true};

    if (json_text_load(text.data, text.len, &limits, &call->arguments, err) < 0)
        return error_wrap(err, "arguments");
    if (!json_is_object(call->arguments))
        return error_set(err, E_INVALID, "arguments must be an object");
    return check_arguments(call, err);
}

static int begin(struct call *call, struct span arguments, struct error *err)
{
    if (!is_name(span_of(call->name)))
        return error_set(err, E_INVALID, "invalid name of a call");
    if (find_row(call, err) < 0 || check_grant(call, err) < 0)
        return -1;
    return read_arguments(call, arguments, err);
}

static void do_call(struct call *call, struct span arguments)
{
    struct error err = {0};

    if (begin(call, arguments, &err) < 0)
        call_fail(call, &err);
    else
        call->row->handle(call);
}

/* --- waiting for a turn --- */

static void do_first(struct call_desk *desk)
{
    struct call *call = desk->first_waiting;
    cleanup_free char *text = take_ptr(call->text);

    desk->first_waiting = call->after;
    if (!desk->first_waiting)
        desk->last_waiting = NULL;
    desk->waiting_bytes -= call->bytes;
    do_call(call, (struct span){text, call->bytes});
}

static void on_turn(void *arg)
{
    struct call_desk *desk = arg;
    uint64_t began_ns = loop_cpu_ns();

    if (!desk->first_waiting)
        return;
    do_first(desk);
    if (desk->first_waiting)
        loop_work_post(desk->options.loop, &desk->work, on_turn, desk);
    if (desk->options.spent)
        desk->options.spent(desk->options.user, loop_cpu_ns() - began_ns);
}

/* Returns false without memory. */
static bool wait_for_turn(struct call_desk *desk, struct call *call, struct span arguments)
{
    while (desk->first_waiting && desk->waiting_bytes + arguments.len > WAITING_BYTES)
        do_first(desk);
    call->text = malloc(arguments.len + 1);
    if (!call->text)
        return false;
    memcpy(call->text, arguments.data, arguments.len);
    desk->waiting_bytes += arguments.len;
    if (desk->last_waiting)
        desk->last_waiting->after = call;
    else
        desk->first_waiting = call;
    desk->last_waiting = call;
    loop_work_post(desk->options.loop, &desk->work, on_turn, desk);
    return true;
}

static struct call *new_call(struct call_desk *desk, const struct run *run,
                             const struct wire_call *asked)
{
    struct call *call = calloc(1, sizeof(*call));

    if (!call)
        return NULL;
    call->name = is_name(asked->name) ? span_dup(asked->name) : strdup("?");
    if (!call->name) {
        free(call);
        return NULL;
    }
    call->desk = desk;
    call->run = run;
    call->id = asked->id;
    call->begun_ns = loop_now_ns();
    call->bytes = asked->arguments.len;
    sha256(asked->arguments.data, asked->arguments.len, call->digest);
    call->next = desk->calls;
    desk->calls = call;
    desk->n_calls++;
    return call;
}

/* Without a record: what is asked for in vain again and again would fill the trail. */
static void refuse(struct call_desk *desk, uint64_t id, struct error *err)
{
    if (!desk->is_deaf && reply_error(desk, id, err))
        send(desk);
    error_done(err);
}

bool call_desk_take(struct call_desk *desk, const struct run *run, const struct wire_call *asked)
{
    struct call *call = NULL;
    struct error err = {0};

    if (desk->n_calls >= WIRE_CALLS_MAX || desk->pending.len > LIMIT_REPLIES_BYTES + WORDS_MAX / 2)
        return false;
    if (++desk->n_in_run > LIMIT_CALLS) {
        error_set(&err, E_TOO_LARGE, "a run may make at most %d calls", LIMIT_CALLS);
        error_hint(&err, "do more with each call");
    } else if (!(call = new_call(desk, run, asked))) {
        error_memory(&err);
    }
    if (!call)
        refuse(desk, asked->id, &err);
    else if ((!desk->first_waiting && !loop_is_late(desk->options.loop)) ||
             !wait_for_turn(desk, call, asked->arguments))
        do_call(call, asked->arguments);
    return true;
}

struct call_desk *call_desk_new(const struct call_desk_options *options)
{
    struct call_desk *desk = calloc(1, sizeof(*desk));

    if (!desk) {
        (void)close(options->fd);
        return NULL;
    }
    desk->options = *options;
    buf_init(&desk->pending, LIMIT_REPLIES_BYTES + WORDS_MAX);
    return desk;
}

void call_desk_free(struct call_desk *desk)
{
    if (!desk)
        return;
    desk->is_deaf = true;
    call_desk_end_run(desk);
    loop_watch_free(desk->writer);
    buf_done(&desk->pending);
    close_fd(&desk->options.fd);
    free(desk);
}
