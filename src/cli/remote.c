#include "cli/remote.h"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/result_read.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/stream.h"
#include "base/utf8.h"
#include "cli/consent.h"
#include "cli/remote_keyboard.h"
#include "cli/remote_line.h"
#include "cli/run_terminal.h"
#include "cli/server.h"
#include "http/client_link.h"
#include "mask/masker.h"

/* Bytes of a character but the first. */
#define CUT_MAX ((size_t)3)

/* --- where --- */

void remote_init(struct remote *remote)
{
    if (!remote->server)
        remote->server = server_of_environment();
}

void remote_done(struct remote *remote)
{
    client_done(&remote->client);
    free(remote->socket);
    free(remote->own_session);
    buf_done(&remote->typed);
    json_decref(remote->result);
}

/* Settings that a server takes from us, under the same names; false: it has its own. */
static bool is_sent(const struct config_option *option)
{
    static const char *const others[] = {"allow", "workdir", "net", "profile", "environment"};

    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        if (strcmp(option->name, others[i]) == 0)
            return true;
    return option->limit && option->limit->scope != RUN_LIMIT_OF_OPERATOR;
}

/* Whether a cell, or a command beside the cells, can have its own; the rest is said when the
 * session is opened. */
static bool is_of_cell(const struct config_option *option, bool is_command)
{
    return (option->limit && option->limit->scope == RUN_LIMIT_OF_CELL) ||
           (is_command && strcmp(option->name, "workdir") == 0);
}

/* The option behind a flag. */
static const struct config_option *option_of(const char *flag)
{
    size_t count;
    const struct config_option *options = config_options(&count);

    for (size_t i = 0; i < count; i++)
        if (options[i].flag && strcmp(options[i].flag, flag) == 0)
            return &options[i];
    return NULL;
}

static const char *own_flag(const struct remote *remote)
{
    for (size_t i = 0; i < remote->n_flags; i++) {
        const struct config_option *option = option_of(remote->flags[i]);

        /* It may be a directory, which no server takes. */
        if (!option || !is_sent(option) || strcmp(option->name, "environment") == 0)
            return remote->flags[i];
    }
    return NULL;
}

static bool answers(struct remote *remote, const struct config *config)
{
    struct error err = {0};
    struct client client = {0};
    struct client_link *link = NULL;
    bool does = false;

    remote->socket = server_socket(config, &err);
    if (remote->socket) {
        client.socket = remote->socket;
        does = client_link_open(&client, &link, &err) == 0;
    }
    client_link_close(link);
    error_done(&err);
    return does;
}

bool remote_is_wanted(struct remote *remote, const struct config *config)
{
    if (remote->server && strcmp(remote->server, "auto") == 0) {
        remote->server = NULL;
        return remote->session ||
               (!remote->is_local && !own_flag(remote) && config->allow.count == 0 &&
                config->net.count == 0 && answers(remote, config));
    }
    return remote->server || remote->session;
}

static int open_client(struct remote *remote, const struct config *config, struct error *err)
{
    const struct server_place place = {.url = remote->server ? remote->server : "auto",
                                       .token_file = remote->token_file};

    return server_open(&place, config, &remote->client, err);
}

/* --- what --- */

static int only_here(const char *flag, struct error *err)
{
    error_set(err, E_INVALID, "--%s does not work with a server", flag);
    return error_hint(err, "leave it out, or run without --server and --session");
}

enum settings {
    SETTINGS_ALL,        /* for a sandbox of its own */
    SETTINGS_OF_CELL,    /* for a cell of a session, */
    SETTINGS_OF_COMMAND, /* or a command there, */
    SETTINGS_OF_SESSION, /* and those that are left for the session of that command */
};

static bool are_wanted(enum settings which, const struct config_option *option)
{
    return which == SETTINGS_ALL ||
           (which == SETTINGS_OF_SESSION ? !is_of_cell(option, true)
                                         : is_of_cell(option, which == SETTINGS_OF_COMMAND));
}

static int add_settings(const struct remote *remote, const struct config *config,
                        enum settings which, json_t *body, struct error *err)
{
    for (size_t i = 0; i < remote->n_flags; i++) {
        const struct config_option *option = option_of(remote->flags[i]);

        if (!option || !is_sent(option))
            return only_here(remote->flags[i], err);
        if (are_wanted(which, option) &&
            json_object_set_new(body, option->name, config_value(config, option)) < 0)
            return error_memory(err);
    }
    return 0;
}

static int add_env(const struct run_request *asked, json_t *body, struct error *err)
{
    json_t *env = json_object();

    for (size_t i = 0; i < asked->n_env; i++) {
        const struct run_request_variable *v = &asked->env[i];
        cleanup_free char *name = strndup(v->name.data, v->name.len);

        if (!name || json_object_set_new(env, name, json_string(v->value)) < 0) {
            json_decref(env);
            return error_set(err, E_INVALID, "--env `%.64s` is not UTF-8", v->name.data);
        }
    }
    return json_object_set_new(body, "env", env) < 0 ? error_memory(err) : 0;
}

static int add_args(const struct run_request *asked, json_t *body, struct error *err)
{
    char name[RUN_PROGRAM_NAME_MAX];
    json_t *args = json_array();
    int r;

    run_program_name(asked->filename, name);
    r = json_object_set_new(body, "filename", json_string(name));
    for (size_t i = 0; i < asked->args.count && r == 0; i++)
        r = json_array_append_new(args, json_string(asked->args.items[i]));
    if (r < 0 || json_object_set_new(body, "args", args) < 0)
        return error_set(err, E_INVALID, "an argument of the program is not UTF-8");
    return 0;
}

static int add_input(struct span input, json_t *body, struct error *err)
{
    if (utf8_valid(input.data, input.len) < input.len || memchr(input.data, '\0', input.len)) {
        error_set(err, E_INVALID, "--stdin: a server accepts text only");
        return error_hint(err, "run without --server, or put the bytes into a file of a session");
    }
    return json_object_set_new(body, "stdin", json_stringn(input.data, input.len));
}

/* A command is a line of Bash there, which it replaces. */
static int add_code(const struct run_request *asked, json_t *body, struct error *err)
{
    cleanup(buf_done) struct buf line = BUF_OF(LIMIT_COMMAND_LINE + KIB);
    struct span code = asked->code;

    if (asked->language == RUN_COMMAND) {
        if (buf_add_str(&line, "exec -- ", err) < 0 || buf_add(&line, code.data, code.len, err) < 0)
            return -1;
        code = (struct span){buf_str(&line), line.len};
    }
    if (json_object_set_new(body, "code", json_stringn(code.data, code.len)) < 0) {
        error_set(err, E_INVALID, "the program is not UTF-8");
        return error_hint(err, "a server accepts text only");
    }
    if (json_object_set_new(
            body, "language",
            json_string(
                languages[asked->language == RUN_COMMAND ? RUN_BASH : asked->language].name)) < 0)
        return error_memory(err);
    return 0;
}

/* Beside the cells of a session, without a shell. */
static int command_body(const struct remote *remote, const struct config *config,
                        const struct run_request *asked, json_t *body, struct error *err)
{
    json_t *words = json_array();
    int r = json_array_append_new(words, json_string(asked->filename));

    for (size_t i = 0; i < asked->args.count && r == 0; i++)
        r = json_array_append_new(words, json_string(asked->args.items[i]));
    if (json_object_set_new(body, "args", words) < 0 || r < 0)
        return error_set(err, E_INVALID, "the command is not UTF-8");
    if (remote->files) {
        error_set(err, E_INVALID, "--file and --collect do not work with a command in a session");
        return error_hint(err, "use `belljar session put` and `belljar session get`");
    }
    if (asked->wants_receipt)
        (void)json_object_set_new(body, "receipt", json_true());
    if ((asked->input.data && add_input(asked->input, body, err) < 0) ||
        (asked->n_env && add_env(asked, body, err) < 0))
        return -1;
    return add_settings(remote, config, SETTINGS_OF_COMMAND, body, err);
}

/* For a fresh sandbox, or for a cell. */
int remote_body(const struct remote *remote, const struct config *config,
                const struct run_request *asked, json_t *body, struct error *err)
{
    bool is_cell = remote->session != NULL;

    if (is_cell && asked->language == RUN_COMMAND)
        return command_body(remote, config, asked, body, err);
    if (add_code(asked, body, err) < 0)
        return -1;
    if (asked->auto_print)
        (void)json_object_set_new(body, "auto_print", json_true());
    if (remote->files && json_object_update(body, remote->files) < 0)
        return error_memory(err);
    if (asked->wants_receipt)
        (void)json_object_set_new(body, "receipt", json_true());
    if (asked->input.data && add_input(asked->input, body, err) < 0)
        return -1;
    if (is_cell && asked->can_type)
        (void)json_object_set_new(body, "stdin_open", json_true());
    if (is_cell && asked->has_seed)
        return error_set(err, E_INVALID, "--seed does not work with a session");
    if (is_cell && asked->args.count)
        return error_set(err, E_INVALID, "a cell of a session takes no arguments");
    if (asked->has_seed)
        (void)json_object_set_new(body, "seed", json_integer((json_int_t)asked->seed));
    if (!is_cell &&
        ((asked->n_env && add_env(asked, body, err) < 0) ||
         (asked->filename && asked->language != RUN_COMMAND && add_args(asked, body, err) < 0)))
        return -1;
    return add_settings(remote, config, is_cell ? SETTINGS_OF_CELL : SETTINGS_ALL, body, err);
}

/* --- sessions --- */

/* Whether something was said that can only be said when a session is opened. */
static const char *opening_flag(const struct remote *remote, const struct run_request *asked)
{
    bool is_command = asked->language == RUN_COMMAND;

    if (asked->n_env && !is_command)
        return "env";
    for (size_t i = 0; i < remote->n_flags; i++) {
        const struct config_option *option = option_of(remote->flags[i]);

        if (remote->is_profile_usual && strcmp(remote->flags[i], "profile") == 0)
            continue;
        if (option && is_sent(option) && !is_of_cell(option, is_command))
            return remote->flags[i];
    }
    return NULL;
}

static int take_session(struct remote *remote, const json_t *answer, struct error *err)
{
    const char *id = json_string_value(json_object_get(answer, "session_id"));

    if (!client_is_id(id))
        return error_set(err, E_PROTOCOL, "the server's answer has no id");
    remote->own_session = strdup(id);
    remote->session = remote->own_session;
    return remote->own_session ? 0 : error_memory(err);
}

static void end_own_session(struct remote *remote)
{
    cleanup_free char *path = NULL;
    cleanup_error struct error ignored = {0}; /* it ends by itself, later */
    json_t *answer = NULL;

    if (!remote->own_session)
        return;
    path = client_path("/v1/sessions/", remote->own_session, "");
    if (path)
        (void)client_call(&remote->client, "DELETE", path, NULL, &answer, &ignored);
    json_decref(answer);
    remote->session = NULL;
    free(take_ptr(remote->own_session));
}

/* Without a name it is for this command alone. */
static int open_session(struct remote *remote, const struct config *config,
                        const struct run_request *asked, struct error *err)
{
    json_t *body = json_pack("{s:s*}", "name", remote->session), *answer = NULL;
    int r = body ? 0 : error_set(err, E_INVALID, "the name of the session is not UTF-8");

    if (r == 0 && asked->n_env && asked->language != RUN_COMMAND)
        r = add_env(asked, body, err);
    if (r == 0)
        r = add_settings(remote, config,
                         asked->language == RUN_COMMAND ? SETTINGS_OF_SESSION : SETTINGS_ALL, body,
                         err);
    if (r == 0)
        r = client_call(&remote->client, "POST", "/v1/sessions", body, &answer, err);
    if (r == 0 && !remote->session)
        r = take_session(remote, answer, err);
    json_decref(body);
    json_decref(answer);
    return r;
}

/* The session of that name, where there is one. */
static int find_session(struct remote *remote, const struct run_request *asked,
                        json_t **ret_session, struct error *err)
{
    cleanup_free char *path = client_path("/v1/sessions/", remote->session, "");
    cleanup_json json_t *answer = NULL;
    const char *flag = opening_flag(remote, asked);

    if (!path)
        return error_memory(err);
    if (client_call(&remote->client, "GET", path, NULL, &answer, err) < 0)
        return -1;
    if (flag) {
        error_set(err, E_INVALID, "the session `%s` is open; --%s can no longer be changed",
                  remote->session, flag);
        return error_hint(err, "leave it out, or end the session: `belljar session rm`");
    }
    *ret_session = take_ptr(answer);
    return 0;
}

/* It is opened when there is none. */
static int reach_session(struct remote *remote, const struct config *config,
                         const struct run_request *asked, struct error *err)
{
    json_t *session = NULL;
    int r = find_session(remote, asked, &session, err);

    json_decref(session);
    if (r < 0 && err->code == E_NOT_FOUND && !client_is_unreachable(err)) {
        error_done(err);
        return open_session(remote, config, asked, err);
    }
    return r;
}

int remote_attach(struct remote *remote, const struct config *config,
                  const struct run_request *asked, json_t **ret_session, struct error *err)
{
    if (open_client(remote, config, err) < 0)
        return -1;
    if (find_session(remote, asked, ret_session, err) < 0) {
        if (err->code == E_NOT_FOUND && !client_is_unreachable(err))
            (void)error_hint(err, "`belljar session list` shows those that are open, `belljar run "
                                  "--session NAME` opens one");
        return err->code == E_AUTH ? error_hint(err, SERVER_TOKEN_HINT) : -1;
    }
    remote->is_attached = true;
    return 0;
}

/* --- how it goes --- */

static volatile sig_atomic_t n_signals, ended_by;

static void on_signal(int number)
{
    if (number != SIGINT)
        ended_by = number;
    n_signals = n_signals + 1;
}

static const int caught[] = {SIGINT, SIGTERM, SIGHUP};

struct signals {
    sigset_t before; /* what was blocked; it is again while we wait */
    struct sigaction actions[ARRAY_SIZE(caught)];
};

static void signals_take(struct signals *signals)
{
    const struct sigaction action = {.sa_handler = on_signal};
    sigset_t all;

    (void)sigemptyset(&all);
    for (size_t i = 0; i < ARRAY_SIZE(caught); i++)
        (void)sigaddset(&all, caught[i]);
    n_signals = ended_by = 0;
    (void)sigprocmask(SIG_BLOCK, &all, &signals->before);
    for (size_t i = 0; i < ARRAY_SIZE(caught); i++)
        (void)sigaction(caught[i], &action, &signals->actions[i]);
}

static void signals_give_back(const struct signals *signals)
{
    for (size_t i = 0; i < ARRAY_SIZE(caught); i++)
        (void)sigaction(caught[i], &signals->actions[i], NULL);
    (void)sigprocmask(SIG_SETMASK, &signals->before, NULL);
}

void remote_cancel(struct remote *remote)
{
    cleanup_free char *path = client_path("/v1/runs/", remote->run_id, "/cancel");
    json_t *answer = NULL;
    struct error err = {0};

    /* Without an answer the run ends all the same, a while after we have gone. */
    if (path && *remote->run_id)
        (void)client_call(&remote->client, "POST", path, NULL, &answer, &err);
    json_decref(answer);
    error_done(&err);
}

void remote_add_text(struct run *run, bool is_stderr, const char *text, size_t len)
{
    struct run_stream *stream = is_stderr ? &run->result.err : &run->result.out;
    struct run_event event = {.kind = is_stderr ? RUN_EVENT_STDERR : RUN_EVENT_STDOUT,
                              .offset = stream->total,
                              .data = text,
                              .len = len};

    if (run_stream_add(stream, masker_pass_unmasked(text, len), NULL) == 0 && run->on_event)
        run->on_event(run, &event);
}

/* The server waits, for a while, and takes silence for a no. */
static void on_approval(struct remote *remote, const json_t *data)
{
    cleanup_free char *path = client_path("/v1/runs/", remote->run_id, "/approve");
    bool is_yes =
        remote->consent && remote->consent->terminal >= 0 && consent_ask_now(remote->consent, data);
    json_t *body = json_pack("{s:b, s:O}", "approve", (int)is_yes, "approval_id",
                             json_object_get(data, "approval_id"));
    json_t *hidden = json_object_get(data, "hidden_bytes"),
           *digest = json_object_get(data, "sha256");
    json_t *answer = NULL;

    if (body && is_yes && json_integer_value(hidden) > 0)
        (void)json_object_set(body, "accept_hidden", hidden);
    if (body && is_yes && json_is_string(digest))
        (void)json_object_set(body, "sha256", digest);
    if (path && body)
        (void)client_call(&remote->client, "POST", path, body, &answer, NULL);
    json_decref(answer);
    json_decref(body);
}

static void on_display(struct run *run, const json_t *data)
{
    size_t before = run->result.n_displays;
    struct run_event event = {.kind = RUN_EVENT_DISPLAY, .offset = before};

    result_read_displays(json_object_get(data, "displays"), run);
    if (run->result.n_displays == before || !run->on_event)
        return;
    event.display = &run->result.displays[before];
    run->on_event(run, &event);
}

/* Marks the bytes dropped between the beginning, which came as events, and the end. The marker
 * stands where the first half of the limit ends, whatever the program wrote itself. */
static void add_end(struct remote *remote, struct run *run, bool is_stderr, const char *text)
{
    static const char marker[] = "\n… [";
    struct run_stream *stream = is_stderr ? &run->result.err : &run->result.out;
    const char *at = NULL, *tail;
    uint64_t dropped, seen = stream->total, begin; /* of the tail, in the whole output */
    char said[64];
    size_t len = strlen(text);

    /* A character that is cut in two there is left out. */
    for (size_t head = (size_t)(seen - seen / 2) + CUT_MAX, back = 0; back <= 2 * CUT_MAX; back++)
        if (head >= back && head - back < len &&
            strncmp(text + head - back, marker, strlen(marker)) == 0)
            at = text + head - back;
    if (!at)
        at = strstr(text, marker);
    tail = at ? strstr(at, "] …\n") : NULL;
    if (!tail)
        return;
    tail += strlen("] …\n");
    dropped = strtoull(at + strlen(marker), NULL, 10);
    if (dropped > INT64_MAX) /* so that the sum below cannot wrap */
        return;
    begin = (uint64_t)(at - text) + dropped;
    if (begin > seen) {
        remote->dropped[is_stderr] = begin - seen;
        (void)snprintf(said, sizeof(said), "\n… [%" PRIu64 " bytes dropped] …\n",
                       remote->dropped[is_stderr]);
        remote_add_text(run, is_stderr, said, strlen(said));
    } else if (seen - begin < strlen(tail)) {
        tail += seen - begin;
    } else { /* the server, or a marker of the program's own, says less than has been seen */
        return;
    }
    remote_add_text(run, is_stderr, tail, strlen(tail));
}

static int on_result(struct remote *remote, struct run *run, const json_t *data, struct error *err)
{
    static const char *const names[] = {"stdout", "stderr"};

    remote->result = json_incref((json_t *)data);
    for (int i = 0; i < 2 && !remote->terminal; i++) { /* which has shown all of it */
        const char *text = json_string_value(json_object_get(data, names[i]));

        if (text && json_is_true(json_object_get(json_object_get(data, "truncated"), names[i])))
            add_end(remote, run, i, text);
    }
    return result_read(data, run, err);
}

int remote_take_error(const json_t *data, struct error *err)
{
    const json_t *error = json_object_get(data, "error");
    const char *message = json_string_value(json_object_get(error, "message"));
    const char *hint = json_string_value(json_object_get(error, "hint"));

    error_set(err, error_code_by_name(json_string_value(json_object_get(error, "code"))), "%s",
              message ? message : "the server failed");
    return hint ? error_hint(err, "%s", hint) : -1;
}

static int take_event(struct remote *remote, struct run *run, const char *name, const json_t *data,
                      struct error *err)
{
    const json_t *text = json_object_get(data, "text");
    const char *id = json_string_value(json_object_get(data, "id"));

    if (strcmp(name, "start") == 0 && id)
        (void)snprintf(remote->run_id, sizeof(remote->run_id), "%s", id);
    else if ((strcmp(name, "stdout") == 0 || strcmp(name, "stderr") == 0) && json_is_string(text))
        remote_add_text(run, name[3] == 'e', json_string_value(text), json_string_length(text));
    else if (strcmp(name, "approval") == 0)
        on_approval(remote, data);
    else if (strcmp(name, "display") == 0)
        on_display(run, data);
    else if (strcmp(name, "result") == 0)
        return on_result(remote, run, data, err);
    else if (strcmp(name, "error") == 0)
        return remote_take_error(data, err);
    return 0;
}

/* Up to the result: a run has one. What a server sends after it is not read. */
static int follow(struct remote *remote, struct run *run, struct client_stream *stream,
                  const sigset_t *mask, struct error *err)
{
    const char *name;
    json_t *data = NULL;
    int r = 0, cancelled = 0;

    while (!remote->result && (r = client_next(stream, mask, &name, &data, err)) > 0) {
        if (r == 3)
            remote_line_read(remote, stream);
        if (r == 1 && strcmp(name, "input") == 0)
            remote_line_want(remote, stream, data);
        if (r == 1) {
            r = take_event(remote, run, name, data, err);
            json_decref(data);
            data = NULL;
            if (r < 0)
                return r;
        }
        if (n_signals > 1)
            return error_set(err, E_BUSY, "interrupted twice; the run was abandoned");
        if (n_signals && !cancelled++) {
            remote_line_forget(remote, stream);
            remote_cancel(remote);
        }
    }
    if (r == 0 && !remote->result)
        return error_set(err, E_PROTOCOL, "the server's answer ended without a result");
    return r < 0 ? -1 : 0;
}

/* The body and the path of the request; the session is there. */
static int prepare(struct remote *remote, const struct config *config,
                   const struct run_request *asked, json_t *body, char **ret_path,
                   struct error *err)
{
    int r = body ? remote_body(remote, config, asked, body, err) : error_memory(err);

    if (r == 0 && !remote->is_attached)
        r = open_client(remote, config, err);
    if (r == 0 && remote->session && !remote->is_attached)
        r = reach_session(remote, config, asked, err);
    if (r < 0)
        return r;
    *ret_path = remote->session
                    ? client_path("/v1/sessions/", remote->session,
                                  asked->language == RUN_COMMAND ? "/commands" : "/execute")
                    : strdup(asked->is_check ? "/v1/check" : "/v1/run");
    return *ret_path ? 0 : error_memory(err);
}

static int add_number(json_t *body, const char *name, const char *flag, const char *text,
                      struct error *err)
{
    char *end = NULL;
    long value = text ? strtol(text, &end, 10) : 0;

    if (!text)
        return 0;
    if (end == text || *end || value < 1 || value > INT_MAX)
        return error_set(err, E_INVALID, "%s: expected a whole number from 1, got `%.40s`", flag,
                         text);
    return json_object_set_new(body, name, json_integer(value)) < 0 ? error_memory(err) : 0;
}

static int add_retries(json_t *body, const char *text, struct error *err)
{
    json_t *list = json_array();

    for (size_t n; text && *text; text += n + (text[n] == ',')) {
        n = strcspn(text, ",");
        (void)json_array_append_new(list, json_text_string(text, n));
    }
    return json_object_set_new(body, "retry_on", list) < 0 ? error_memory(err) : 0;
}

/* The server checks what the words mean. */
static int add_job(const struct remote *remote, json_t *body, struct error *err)
{
    const struct remote_job *job = &remote->job;

    if (add_number(body, "max_attempts", "--attempts", job->attempts, err) < 0 ||
        add_number(body, "keep_s", "--keep", job->keep_s, err) < 0 ||
        (job->retry_on && add_retries(body, job->retry_on, err) < 0))
        return -1;
    if (job->is_once)
        json_set(body, "repeatable", json_false());
    return 0;
}

int remote_start(struct remote *remote, const struct config *config,
                 const struct run_request *asked, json_t **ret_begun, struct error *err)
{
    cleanup_free char *path = NULL;
    cleanup_json json_t *body = json_object(), *begun = NULL;

    if (prepare(remote, config, asked, body, &path, err) < 0)
        return err->code == E_AUTH ? error_hint(err, SERVER_TOKEN_HINT) : -1;
    if (remote->job.is_wanted) {
        if (add_job(remote, body, err) < 0)
            return -1;
    } else {
        json_set(body, remote->session && asked->language == RUN_COMMAND ? "background" : "detach",
                 json_true());
    }
    if (client_call(&remote->client, "POST", remote->job.is_wanted ? "/v1/jobs" : path, body,
                    &begun, err) < 0)
        return err->code == E_AUTH ? error_hint(err, SERVER_TOKEN_HINT) : -1;
    if (!client_is_id(json_string_value(json_object_get(begun, "id"))))
        return error_set(err, E_PROTOCOL, "the server's answer has no id");
    *ret_begun = take_ptr(begun);
    return 0;
}

/* --- on a terminal --- */

static int begin_terminal(struct remote *remote, const struct config *config,
                          const struct run_request *asked, struct error *err)
{
    cleanup_free char *path = NULL;
    cleanup_json json_t *body = json_object(), *begun = NULL;
    const char *id;

    if (!remote->session &&
        (open_client(remote, config, err) < 0 || open_session(remote, config, asked, err) < 0))
        return -1;
    remote->is_attached = remote->own_session != NULL;
    if (prepare(remote, config, asked, body, &path, err) < 0)
        return -1;
    if (json_object_set_new(body, "pty", remote_keyboard_size()) < 0 ||
        json_object_set_new(body, "background", json_true()) < 0)
        return error_memory(err);
    if (client_call(&remote->client, "POST", path, body, &begun, err) < 0)
        return -1;
    id = json_string_value(json_object_get(begun, "id"));
    if (!client_is_id(id))
        return error_set(err, E_PROTOCOL, "the server's answer has no id");
    (void)snprintf(remote->run_id, sizeof(remote->run_id), "%s", id);
    return 0;
}

static int follow_terminal(struct remote *remote, struct run *run, struct error *err)
{
    cleanup_free char *commands = client_path("/v1/sessions/", remote->session, "/commands/");
    cleanup_free char *path = NULL;
    struct client_stream *stream = NULL;
    struct signals signals;
    pid_t keyboard = -1;
    int r;

    if (!commands || asprintf(&path, "%s%s", commands, remote->run_id) < 0)
        return error_memory(err);
    r = client_open(&remote->client, "GET", path, NULL, &stream, err);
    if (r < 0)
        return r;
    run_terminal_take(remote->terminal);
    r = remote_keyboard_begin(&remote->client, path, remote->terminal->keyboard, &keyboard, err);
    signals_take(&signals);
    if (r == 0)
        r = follow(remote, run, stream, &signals.before, err);
    signals_give_back(&signals);
    remote->ended_by = ended_by;
    if (keyboard > 0)
        remote_keyboard_end(keyboard);
    client_close(stream);
    return r;
}

static int run_on_terminal(struct remote *remote, const struct config *config,
                           const struct run_request *asked, struct run *run, struct error *err)
{
    int r = begin_terminal(remote, config, asked, err);

    if (r == 0)
        r = follow_terminal(remote, run, err);
    else if (err->code == E_AUTH)
        error_hint(err, SERVER_TOKEN_HINT);
    end_own_session(remote);
    return r;
}

int remote_run(struct remote *remote, const struct config *config, const struct run_request *asked,
               struct run *run, struct error *err)
{
    cleanup_free char *path = NULL;
    cleanup_json json_t *body = json_object();
    struct client_stream *stream = NULL;
    struct signals signals;
    int r;

    json_decref(remote->result); /* of the run before */
    remote->result = NULL;
    remote->run_id[0] = '\0';
    remote->dropped[0] = remote->dropped[1] = 0;
    if (remote->terminal)
        return run_on_terminal(remote, config, asked, run, err);
    r = prepare(remote, config, asked, body, &path, err);

    if (r == 0)
        r = client_open(&remote->client, "POST", path, body, &stream, err);
    if (r < 0)
        return err->code == E_AUTH ? error_hint(err, SERVER_TOKEN_HINT) : r;
    signals_take(&signals);
    r = follow(remote, run, stream, &signals.before, err);
    signals_give_back(&signals);
    remote->ended_by = ended_by;
    client_close(stream);
    return r;
}
