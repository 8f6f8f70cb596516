/* Programs in E2B's sandboxes: process.Process of its RPC. Each is a command beside the kernels of
 * the session, which goes on when its client goes away. Its number is ours, not one of Linux. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/terminal_size.h"
#include "base/base64.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/span.h"
#include "compat/e2b_connect.h"
#include "compat/e2b_internal.h"
#include "engine/session_files.h"

#define FIRST_PID 1000

/* Readers of one program at once, and programs that have ended and can still be asked about. */
#define READERS_MAX 8
#define ENDED_MAX   64

#define TAG_MAX 256

/* Of what List says of a program. */
#define CONFIG_BYTES ((size_t)64 * KIB)

#define INPUT_BYTES MIB
#define PIECE_BYTES (4 * MIB)
#define PING_S      90

static const char ping[] = "\0\0\0\0\x1a{\"event\":{\"keepalive\":{}}}";

struct reader {
    struct e2b_stream stream;
    LIST_ENTRY(reader) link;
    struct e2b_process *process;
    struct loop_watch *deadline; /* or NULL */
};

struct e2b_process {
    TAILQ_ENTRY(e2b_process) link;
    struct e2b *e2b;
    struct e2b_sandbox *sandbox; /* NULL: it has ended */
    uint32_t pid;
    char *tag;
    json_t *config;
    struct job *job; /* NULL: it has ended */
    bool has_ended;
    bool has_terminal;
    LIST_HEAD(, reader) readers;
    size_t n_readers;
    struct buf last; /* the envelopes of its end */
};

/* --- readers --- */

static void free_reader(struct reader *reader)
{
    LIST_REMOVE(reader, link);
    reader->process->n_readers--;
    loop_watch_free(reader->deadline);
    e2b_stream_drop(&reader->stream);
    free(reader);
}

/* A reader that is behind holds the program, as a full pipe does. */
static void hold(struct e2b_process *process)
{
    const struct reader *reader;
    bool is_behind = false;

    LIST_FOREACH(reader, &process->readers, link)
        is_behind |= reader->stream.is_behind;
    if (process->job)
        job_hold(process->job, is_behind);
}

static void on_reader_gone(struct request *request)
{
    struct reader *reader = request->user;
    struct e2b_process *process = reader->process;

    free_reader(reader);
    hold(process);
}

static void on_reader_drained(struct request *request)
{
    struct reader *reader = request->user;

    reader->stream.is_behind = false;
    hold(reader->process);
}

static void write_message(struct reader *reader, const char *text)
{
    cleanup(buf_done) struct buf envelope = BUF_OF(KIB);

    if (e2b_envelope_add(&envelope, 0, text, strlen(text), NULL) == 0)
        e2b_stream_write(&reader->stream, buf_str(&envelope), envelope.len);
}

static void end_reader(struct reader *reader)
{
    e2b_stream_end(&reader->stream);
    free_reader(reader);
}

static void end_with(struct reader *reader, const char *code, const char *message)
{
    cleanup(buf_done) struct buf end = BUF_OF(KIB);

    e2b_end_envelope(&end, code, message);
    e2b_stream_write(&reader->stream, buf_str(&end), end.len);
    end_reader(reader);
}

static void on_deadline(void *arg)
{
    struct reader *reader = arg;
    struct e2b_process *process = reader->process;

    end_with(reader, "deadline_exceeded", "context deadline exceeded");
    hold(process);
}

/* The request reads along from now on. `limit_ms`: for so long; 0: until the end. */
static void attach(struct e2b_process *process, struct request *request, uint64_t limit_ms)
{
    struct reader *reader = process->n_readers < READERS_MAX ? calloc(1, sizeof(*reader)) : NULL;
    uint64_t ping_s = e2b_header_number(request, "keepalive-ping-interval");
    struct error err = {0};
    char text[64];

    if (!reader) {
        error_set(&err, E_BUSY, "too many clients follow this process");
        request_answer_error(request, &err);
        return;
    }
    reader->process = process;
    reader->stream.ping = (struct span){ping, sizeof(ping) - 1};
    reader->stream.ping_ms = (ping_s && ping_s < PING_S ? ping_s : PING_S) * 1000;
    LIST_INSERT_HEAD(&process->readers, reader, link);
    process->n_readers++;
    e2b_stream_begin(&reader->stream, process->e2b, request, "application/connect+json");
    request->user = reader;
    request->on_gone = on_reader_gone;
    request->on_drained = on_reader_drained;
    (void)snprintf(text, sizeof(text), "{\"event\":{\"start\":{\"pid\":%u}}}", process->pid);
    write_message(reader, text);
    if (process->has_ended) {
        e2b_stream_write(&reader->stream, buf_str(&process->last), process->last.len);
        end_reader(reader);
    } else if (limit_ms && (reader->deadline = loop_timer(process->e2b->loop, on_deadline, reader)))
        loop_timer_start(reader->deadline, limit_ms);
}

/* --- the table --- */

static void free_process(struct e2b_process *process, struct e2b_processes *list)
{
    TAILQ_REMOVE(list, process, link);
    while (!LIST_EMPTY(&process->readers))
        free_reader(LIST_FIRST(&process->readers));
    json_decref(process->config);
    buf_done(&process->last);
    free(process->tag);
    free(process);
}

void e2b_processes_free(struct e2b_processes *list)
{
    while (!TAILQ_EMPTY(list))
        free_process(TAILQ_FIRST(list), list);
}

void e2b_processes_done(struct e2b_sandbox *sandbox)
{
    struct e2b_process *process;

    while ((process = TAILQ_FIRST(&sandbox->processes))) {
        if (process->has_ended) {
            free_process(process, &sandbox->processes);
            continue;
        }
        TAILQ_REMOVE(&sandbox->processes, process, link);
        TAILQ_INSERT_TAIL(&sandbox->e2b->orphans, process, link);
        process->sandbox = NULL;
    }
}

/* The ones that ended first make room. */
static void trim(struct e2b_sandbox *sandbox)
{
    struct e2b_process *process = TAILQ_FIRST(&sandbox->processes), *next;

    for (; process && sandbox->n_ended > ENDED_MAX; process = next) {
        next = TAILQ_NEXT(process, link);
        if (process->has_ended) {
            sandbox->n_ended--;
            free_process(process, &sandbox->processes);
        }
    }
}

/* --- what a program says --- */

static void on_event(void *user, const struct run_event *event)
{
    struct e2b_process *process = user;
    cleanup(buf_done) struct buf message = BUF_OF(PIECE_BYTES), envelope = BUF_OF(PIECE_BYTES);
    struct reader *reader;

    if ((event->kind != RUN_EVENT_STDOUT && event->kind != RUN_EVENT_STDERR) ||
        LIST_EMPTY(&process->readers) || !event->len)
        return;
    /* Without memory a piece is missing. */
    if (buf_printf(&message, NULL, "{\"event\":{\"data\":{\"%s\":\"",
                   process->has_terminal             ? "pty"
                   : event->kind == RUN_EVENT_STDOUT ? "stdout"
                                                     : "stderr") < 0 ||
        base64_add(&message, event->data, event->len, NULL) < 0 ||
        buf_add_str(&message, "\"}}}", NULL) < 0 ||
        e2b_envelope_add(&envelope, 0, buf_str(&message), message.len, NULL) < 0)
        return;
    LIST_FOREACH(reader, &process->readers, link)
        e2b_stream_write(&reader->stream, buf_str(&envelope), envelope.len);
    hold(process);
}

static const char *signal_word(int sig)
{
    static const struct {
        int number;
        const char *word;
    } words[] = {
        {SIGHUP, "hangup"},       {SIGINT, "interrupt"},   {SIGQUIT, "quit"},
        {SIGABRT, "aborted"},     {SIGKILL, "killed"},     {SIGSEGV, "segmentation fault"},
        {SIGPIPE, "broken pipe"}, {SIGTERM, "terminated"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (words[i].number == sig)
            return words[i].word;
    return NULL;
}

/* How it ended, as E2B's server says it. */
static void write_end_event(const struct run_result *result, struct buf *out)
{
    cleanup(buf_done) struct buf text = BUF_OF(KIB);
    int sig = result->signal ? result->signal
              : result->status == RUN_CANCELLED || result->status == RUN_MEMORY_EXCEEDED ? SIGKILL
                                                                                         : 0;
    int code = sig ? -1 : result->exit_code;
    char status[64];

    if (sig && signal_word(sig))
        (void)snprintf(status, sizeof(status), "signal: %s", signal_word(sig));
    else if (sig)
        (void)snprintf(status, sizeof(status), "signal: signal %d", sig);
    else
        (void)snprintf(status, sizeof(status), "exit status %d", code);
    (void)buf_printf(&text, NULL,
                     "{\"event\":{\"end\":{\"exitCode\":%d,\"exited\":%s,\"status\":\"%s\"", code,
                     sig ? "false" : "true", status);
    if (code)
        (void)buf_printf(&text, NULL, ",\"error\":\"%s\"", status);
    (void)buf_add_str(&text, "}}}", NULL);
    (void)e2b_envelope_add(out, 0, buf_str(&text), text.len, NULL);
}

static void write_end(const struct run_result *result, struct buf *out)
{
    cleanup(buf_done) struct buf text = BUF_OF(4 * KIB);
    struct error err = {0};

    if (result->error.code != E_NONE) {
        error_copy(&err, &result->error);
        e2b_error_text(&err, &text);
        e2b_end_envelope(out, e2b_rpc_code(result->error.code), buf_str(&text));
    } else if (result->status == RUN_TIMEOUT) {
        e2b_end_envelope(out, "deadline_exceeded", "context deadline exceeded");
    } else {
        write_end_event(result, out);
        e2b_end_envelope(out, NULL, NULL);
    }
}

static void on_done(void *user, const struct run *run)
{
    struct e2b_process *process = user;

    process->job = NULL;
    process->has_ended = true;
    write_end(&run->result, &process->last);
    while (!LIST_EMPTY(&process->readers)) {
        struct reader *reader = LIST_FIRST(&process->readers);

        e2b_stream_write(&reader->stream, buf_str(&process->last), process->last.len);
        end_reader(reader);
    }
    json_decref(process->config); /* nobody asks for it any more */
    process->config = NULL;
    if (!process->sandbox) {
        free_process(process, &process->e2b->orphans);
        return;
    }
    process->sandbox->n_ended++;
    trim(process->sandbox);
}

/* --- starting --- */

/* `Basic` is the name of a user inside, and nothing that lets anybody in. */
static int check_user(const struct request *request, struct error *err)
{
    static const char *const users[] = {"", "user", "root"};
    struct span header = request_header(request, "authorization");
    cleanup(buf_done) struct buf name = BUF_OF(256);

    if (header.len < 6 || strncasecmp(header.data, "Basic ", 6) != 0)
        return 0;
    if (base64_decode(&name, header.data + 6, header.len - 6, NULL) < 0)
        return error_set(err, E_AUTH, "the user in the Authorization header cannot be read");
    if (name.len)
        name.data[strcspn(buf_str(&name), ":")] = '\0';
    for (size_t i = 0; i < ARRAY_SIZE(users); i++)
        if (strcmp(buf_str(&name), users[i]) == 0)
            return 0;
    error_set(err, E_AUTH, "invalid username: '%.32s'", buf_str(&name));
    return error_hint(err, "programs run as `user`");
}

/* The program and its arguments as one list; the caller's. */
static int read_words(const json_t *process, json_t **ret_words, struct error *err)
{
    const char *cmd = e2b_text(process, "cmd", NULL);
    json_t *args = json_object_get(process, "args");
    json_t *words;

    if (!*cmd)
        return error_set(err, E_INVALID, "`cmd` is missing");
    if (args && !json_is_null(args) && !json_are_strings(args))
        return error_set(err, E_INVALID, "`args`: expected an array of texts");
    if (json_array_size(args) > LIMIT_COMMAND_WORDS)
        return error_set(err, E_TOO_LARGE, "`args`: more than %d words", LIMIT_COMMAND_WORDS);
    words = json_pack("[s]", cmd);
    if (!words || (json_array_size(args) && json_array_extend(words, args) < 0)) {
        json_decref(words);
        return error_memory(err);
    }
    *ret_words = words;
    return 0;
}

static int read_env(json_t *process, struct run_request *asked, struct error *err)
{
    json_t *envs = json_object_get(process, "envs"), *value;
    const char *name;

    if (envs && !json_is_null(envs) &&
        (!json_is_object(envs) || json_object_size(envs) > LIMIT_ENV_COUNT))
        return error_set(err, E_INVALID, "`envs`: expected an object with at most %d texts",
                         LIMIT_ENV_COUNT);
    json_object_foreach(envs, name, value)
    {
        if (e2b_add_variable(name, value, asked, err) < 0)
            return -1;
    }
    return 0;
}

/* A directory of the home has to be there; what is elsewhere only Linux knows. */
static int read_directory(const struct e2b_sandbox *sandbox, const json_t *process,
                          struct run_request *asked, char directory[PATH_MAX], struct error *err)
{
    const char *cwd = e2b_text(process, "cwd", NULL);
    const struct files *files = session_need_files(sandbox->session, err);
    struct files_entry entry;
    char path[PATH_MAX];

    if (!files || e2b_path_directory(cwd, directory, err) < 0)
        return -1;
    /* A shell shows the name by which it came there. */
    if (run_request_add_variable(asked, (struct span){"PWD", 3}, directory, err) < 0)
        return -1;
    if (!*cwd || e2b_path_read(cwd, path, NULL) < 0 || !*path || files_path_is_tmp(path))
        return 0;
    if (files_stat(files, path, &entry, NULL) == 0 &&
        (entry.kind == FILES_DIRECTORY || entry.kind == FILES_LINK))
        return 0;
    return error_set(err, E_INVALID, "cwd '%.256s' does not exist", cwd);
}

/* `pty`, of a start or an update. A side that is missing is 0, as in all messages. */
static int read_size(const json_t *body, uint16_t *ret_columns, uint16_t *ret_rows,
                     struct error *err)
{
    const json_t *size = json_object_get(json_object_get(body, "pty"), "size");
    json_int_t columns = json_integer_value(json_object_get(size, "cols"));
    json_int_t rows = json_integer_value(json_object_get(size, "rows"));

    if (columns < 0 || rows < 0 || columns > TERMINAL_SIDE_MAX || rows > TERMINAL_SIDE_MAX)
        return error_set(err, E_INVALID, "`size`: expected 1 to %d columns and rows",
                         TERMINAL_SIDE_MAX);
    *ret_columns = columns ? (uint16_t)columns : 80;
    *ret_rows = rows ? (uint16_t)rows : 24;
    return 0;
}

/* Its input: a terminal, a pipe, or nothing. */
static int read_input(const json_t *body, struct run_request *asked, struct error *err)
{
    uint16_t columns, rows;

    if (json_is_object(json_object_get(body, "pty")))
        return read_size(body, &columns, &rows, err) < 0
                   ? -1
                   : api_read_terminal(columns, rows, asked, err);
    asked->is_input_open = !json_is_false(json_object_get(body, "stdin"));
    if (asked->is_input_open)
        asked->input = (struct span){"", 0};
    return 0;
}

/* The header is the program's time limit; without it, it has as long as anybody may have. */
static double limit_of(const struct request *request)
{
    uint64_t ms = e2b_header_number(request, "connect-timeout-ms");
    double most = api_limit_max(request->api, request->caller, RUN_LIMIT_ROW_timeout_s);
    double asked = (double)ms / 1000;

    if (!ms || asked > most)
        return most;
    return asked < RUN_LIMIT_MIN_timeout_s ? RUN_LIMIT_MIN_timeout_s : asked;
}

/* A run that waits for its turn; the caller's. */
static int make_run(struct request *request, struct e2b_sandbox *sandbox, json_t *body,
                    struct run **ret_run, struct error *err)
{
    json_t *process = json_object_get(body, "process");
    struct admission admission = api_admission(request->api, request->caller);
    cleanup(run_request_done) struct run_request asked = {0};
    cleanup(buf_done) struct buf line = BUF_OF(LIMIT_COMMAND_LINE);
    cleanup_json json_t *words = NULL;
    char directory[PATH_MAX];

    if (check_user(request, err) < 0 || read_words(process, &words, err) < 0 ||
        api_read_words(words, &asked, &line, err) < 0 || read_env(process, &asked, err) < 0 ||
        read_directory(sandbox, process, &asked, directory, err) < 0 ||
        read_input(body, &asked, err) < 0)
        return -1;
    asked.workdir = *e2b_text(process, "cwd", NULL) ? directory : NULL;
    run_request_set_limit(&asked, RUN_LIMIT_ROW_timeout_s, limit_of(request));
    admission.session = sandbox->session;
    return admit_request(&admission, &asked, ret_run, err);
}

static struct e2b_process *new_process(struct e2b_sandbox *sandbox, const json_t *body,
                                       size_t body_bytes)
{
    struct e2b_process *process = calloc(1, sizeof(*process));
    const json_t *config = json_object_get(body, "process");
    const char *tag = e2b_text(body, "tag", NULL);

    if (!process)
        return NULL;
    process->e2b = sandbox->e2b;
    process->sandbox = sandbox;
    process->pid = FIRST_PID + ++sandbox->last_pid;
    process->config = body_bytes <= CONFIG_BYTES
                          ? json_deep_copy(config)
                          : json_pack("{s:O}", "cmd", json_object_get(config, "cmd"));
    process->tag = *tag ? strndup(tag, TAG_MAX) : NULL;
    process->has_terminal = json_is_object(json_object_get(body, "pty"));
    buf_init(&process->last, 32 * KIB);
    TAILQ_INSERT_TAIL(&sandbox->processes, process, link);
    return process;
}

void e2b_process_start(struct request *request)
{
    struct api *api = request->api;
    json_t *body = e2b_body(request);
    struct e2b_sandbox *sandbox = body ? e2b_sandbox_of(request) : NULL;
    struct e2b_process *process;
    struct run *run = NULL;
    struct job *job = NULL;
    struct job_order order;
    struct error err = {0};

    if (!sandbox)
        return;
    if (make_run(request, sandbox, body, &run, &err) < 0) {
        api_refuse(request, "run", &err);
        return;
    }
    process = new_process(sandbox, body, request->body.len);
    if (!process) {
        run_free(run);
        error_memory(&err);
        request_answer_error(request, &err);
        return;
    }
    order = job_order_of(request, run);
    order.session = sandbox->session;
    order.request = NULL;
    order.is_detached = true;
    order.follower = (struct job_follower){on_event, on_done, process};
    if (jobs_start(api->jobs, &order, &request->retry_s, &job, &err) < 0) {
        free_process(process, &sandbox->processes);
        request_answer_error(request, &err);
        return;
    }
    process->job = process->has_ended ? NULL : job;
    attach(process, request, 0);
}

/* --- those that run --- */

/* The one that the body names. NULL: the answer has been given. */
static struct e2b_process *find(struct request *request, const json_t *body, bool is_live)
{
    const struct e2b_sandbox *sandbox = body ? e2b_sandbox_of(request) : NULL;
    const json_t *selector = json_object_get(body, "process");
    const json_t *pid = json_object_get(selector, "pid");
    const char *tag = e2b_text(selector, "tag", NULL);
    struct e2b_process *p;
    struct error err = {0};

    if (!sandbox)
        return NULL;
    TAILQ_FOREACH(p, &sandbox->processes, link)
        if ((!is_live || p->job) &&
            (pid ? json_is_integer(pid) && json_integer_value(pid) == (json_int_t)p->pid
                 : *tag && p->tag && strcmp(tag, p->tag) == 0))
            return p;
    if (json_is_integer(pid))
        error_set(&err, E_NOT_FOUND, "process with pid %" JSON_INTEGER_FORMAT " not found",
                  json_integer_value(pid));
    else
        error_set(&err, E_NOT_FOUND, "process with tag '%.64s' not found", tag);
    request_answer_error(request, &err);
    return NULL;
}

void e2b_process_connect(struct request *request)
{
    struct e2b_process *process = find(request, e2b_body(request), false);

    if (process)
        attach(process, request, e2b_header_number(request, "connect-timeout-ms"));
}

void e2b_process_list(struct request *request)
{
    json_t *body = e2b_body(request);
    const struct e2b_sandbox *sandbox = body ? e2b_sandbox_of(request) : NULL;
    const struct e2b_process *p;
    json_t *list;

    if (!sandbox)
        return;
    list = json_array();
    TAILQ_FOREACH(p, &sandbox->processes, link)
        if (p->job)
            (void)json_array_append_new(list, json_pack("{s:O, s:i, s:s*}", "config", p->config,
                                                        "pid", (int)p->pid, "tag", p->tag));
    request_answer_json(request, 200, json_pack("{s:o}", "processes", list));
}

static void answer(struct request *request, int r, struct error *err)
{
    if (r < 0)
        request_answer_error(request, err);
    else
        request_answer_json(request, 200, json_object());
}

static int send_input(struct e2b_process *process, const json_t *input, struct error *err)
{
    const char *text = e2b_text(input, process->has_terminal ? "pty" : "stdin", NULL);
    cleanup(buf_done) struct buf bytes = BUF_OF(INPUT_BYTES);

    if (!json_is_string(json_object_get(input, process->has_terminal ? "pty" : "stdin")))
        return error_set(err, E_INVALID, "`input`: the process has %s",
                         process->has_terminal ? "a terminal: send `pty`"
                                               : "no terminal: send `stdin`");
    if (base64_decode(&bytes, text, strlen(text), err) < 0)
        return error_wrap(err, "`input`");
    return job_input(process->job, buf_str(&bytes), bytes.len, false, err);
}

void e2b_process_input(struct request *request)
{
    json_t *body = e2b_body(request);
    struct e2b_process *process = find(request, body, true);
    struct error err = {0};

    if (process)
        answer(request, send_input(process, json_object_get(body, "input"), &err), &err);
}

void e2b_process_close_input(struct request *request)
{
    struct e2b_process *process = find(request, e2b_body(request), true);
    struct error err = {0};

    if (process)
        answer(request, job_input(process->job, "", 0, true, &err), &err);
}

/* SIGKILL is a cancel, which also ends one that waits for its turn or is about to begin. */
static int send_signal(struct e2b_process *process, const char *name, struct error *err)
{
    if (strcmp(name, "SIGNAL_SIGTERM") == 0) {
        if (job_signal(process->job, SIGTERM, err) == 0)
            return 0;
        if (err->code != E_BUSY)
            return -1;
        error_done(err);
    } else if (strcmp(name, "SIGNAL_SIGKILL") != 0) {
        return error_set(err, E_INVALID, "`signal`: expected SIGNAL_SIGKILL or SIGNAL_SIGTERM");
    }
    job_cancel(process->job);
    return 0;
}

void e2b_process_signal(struct request *request)
{
    json_t *body = e2b_body(request);
    struct e2b_process *process = find(request, body, true);
    struct error err = {0};

    if (process)
        answer(request, send_signal(process, e2b_text(body, "signal", NULL), &err), &err);
}

static int resize(struct e2b_process *process, const json_t *body, struct error *err)
{
    uint16_t columns, rows;

    return read_size(body, &columns, &rows, err) < 0 ? -1
                                                     : job_resize(process->job, columns, rows, err);
}

/* Without a size nothing changes. */
void e2b_process_update(struct request *request)
{
    json_t *body = e2b_body(request);
    struct e2b_process *process = find(request, body, true);
    bool has_size = process && json_is_object(json_object_get(body, "pty"));
    struct error err = {0};

    if (process)
        answer(request, has_size ? resize(process, body, &err) : 0, &err);
}

void e2b_rpc_unsupported(struct request *request)
{
    struct error err = {0};

    error_set(&err, E_UNSUPPORTED, "Belljar does not offer this method");
    error_hint(&err, "docs/guide/e2b.md lists what works");
    request_answer_error(request, &err);
}
