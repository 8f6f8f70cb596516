/* Commands beside the kernels of a session. A command is a run: its answer, its list and its output
 * are those of runs. */
#include <signal.h>
#include <string.h>

#include "api/api.h"
#include "api/terminal_size.h"
#include "base/base64.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/shell_word.h"

#define LIST_MAX 1000

/* Bytes of one message of standard input. */
#define INPUT_BYTES MIB

/* clang-format off */
static const struct {
    const char *name;
    int number;
} signals[] = {
    {"TERM", SIGTERM}, {"KILL", SIGKILL}, {"INT", SIGINT},   {"HUP", SIGHUP},   {"QUIT", SIGQUIT},
    {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"STOP", SIGSTOP}, {"CONT", SIGCONT}, {"WINCH", SIGWINCH},
};

static const struct schema_field size_fields[] = {
    TERMINAL_SIZE_FIELDS,
    {0},
};

static const struct schema_field start_fields[] = {
    {"command", SCHEMA_STRING, .max_len = LIMIT_COMMAND_BYTES / 2, .example = "\"make test\"",
     .help = "a line for Bash; or `args`"},
    {"args", SCHEMA_STRINGS, .max_len = LIMIT_COMMAND_WORDS,
     .help = "the program and its arguments, started without a shell; or `command`"},
    {"env", SCHEMA_MAP, .max_len = LIMIT_ENV_COUNT,
     .help = "variables to set besides the session's"},
    {"workdir", SCHEMA_STRING, .max_len = 4095,
     .help = "where it starts; without it, where the session's code does"},
    {"stdin", SCHEMA_STRING, .help = "its standard input; without it, /dev/null"},
    {"stdin_open", SCHEMA_BOOLEAN,
     .help = "its standard input stays open for what is sent later"},
    {"pty", SCHEMA_OBJECT, .items = size_fields, .example = "{\"cols\": 80, \"rows\": 24}",
     .help = "it runs on a terminal of that size: one stream of output, and input until its end"},
    {"background", SCHEMA_BOOLEAN,
     .help = "answer at once with the id; the command goes on without the client"},
    {"correlation_id", SCHEMA_STRING, .max_len = 128,
     .help = "comes back with the answer; one is made up without it"},
    {"receipt", SCHEMA_BOOLEAN, .help = "also return a signed receipt"},
    API_LIMITS_OF_CELL
    {0},
};

static const struct schema_field show_fields[] = {
    {"stdout", SCHEMA_INTEGER, .min = 0, .max = 1e15, .help = "of events: bytes that you have"},
    {"stderr", SCHEMA_INTEGER, .min = 0, .max = 1e15, .help = "of events: bytes that you have"},
    {"wait", SCHEMA_BOOLEAN, .help = "false: events of the output so far; the last is `running`"},
    {0},
};

static const struct schema_field input_fields[] = {
    {"text", SCHEMA_STRING, .max_len = INPUT_BYTES, .help = "what it reads next"},
    {"base64", SCHEMA_STRING, .max_len = INPUT_BYTES / 3 * 4 + 4,
     .help = "the same as bytes, encoded"},
    {"close", SCHEMA_BOOLEAN, .help = "its standard input ends after that"},
    {0},
};

static bool is_signal_name(const char *text);

static const struct schema_field signal_fields[] = {
    {"signal", SCHEMA_STRING, .is_required = true, .choices = API_SIGNALS, .has_alias = is_signal_name,
     .help = "for the command and what it started"},
    {0},
};
/* clang-format on */

int api_signal_of(const char *name)
{
    if (strncmp(name, "SIG", 3) == 0)
        name += 3;
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        if (strcmp(signals[i].name, name) == 0)
            return signals[i].number;
    return 0;
}

static bool is_signal_name(const char *text)
{
    return api_signal_of(text) != 0;
}

struct job *api_find_command(struct request *request)
{
    struct api *api = request->api;
    struct session *session = api_find_session(request);
    struct session_info info;
    struct error err = {0};
    struct job *job;

    if (!session)
        return NULL;
    session_info(session, &info);
    job = jobs_find_command(api->jobs, request->owner, info.id, request->params[1], &err);
    if (!job)
        request_answer_error(request, &err);
    return job;
}

/* --- starting --- */

/* The words as a line of a shell, for lists and the trail. */
static int write_line(const json_t *words, struct buf *line, struct error *err)
{
    const json_t *word;
    size_t i;

    json_array_foreach(words, i, word)
    {
        if ((i && buf_add_str(line, " ", err) < 0) ||
            shell_word_add(json_string_value(word), line, err) < 0)
            return error_wrap(err, "`args`");
    }
    return 0;
}

static const char *first_word(const json_t *words)
{
    const char *word = json_string_value(json_array_get(words, 0));

    return word && *word ? word : NULL;
}

int api_read_words(const json_t *words, struct run_request *asked, struct buf *line,
                   struct error *err)
{
    const json_t *word;
    size_t i;

    if (write_line(words, line, err) < 0)
        return -1;
    asked->language = RUN_COMMAND;
    asked->max_code = LIMIT_COMMAND_LINE;
    asked->code = (struct span){buf_str(line), line->len};
    asked->filename = json_string_value(json_array_get(words, 0));
    json_array_foreach(words, i, word)
    {
        if (i && run_request_add(&asked->args, json_string_value(word), err) < 0)
            return -1;
    }
    return 0;
}

int api_read_line(const char *line, size_t len, struct run_request *asked, struct error *err)
{
    if (strspn(line, " \t\r\n") == len) {
        error_set(err, E_INVALID, "`command`: expected a line that is not empty");
        return error_hint(err, "for example `make test`");
    }
    asked->language = RUN_COMMAND;
    asked->max_code = LIMIT_COMMAND_LINE;
    asked->code = (struct span){line, len};
    asked->filename = "bash";
    return run_request_add(&asked->args, "-c", err) < 0
               ? -1
               : run_request_add(&asked->args, asked->code.data, err);
}

/* `line` outlives the request. */
static int read_words(const json_t *body, struct run_request *asked, struct buf *line,
                      struct error *err)
{
    const json_t *command = json_object_get(body, "command"),
                 *words = json_object_get(body, "args");

    if (!command == !words || (words && !first_word(words))) {
        error_set(err, E_INVALID, "expected either `command` or `args`, which is not empty");
        return error_hint(err, "`{\"command\": \"ls | wc\"}`, or `{\"args\": [\"ls\", \"-l\"]}`");
    }
    if (words)
        return api_read_words(words, asked, line, err);
    return api_read_line(json_string_value(command), json_string_length(command), asked, err);
}

int api_read_terminal(uint16_t columns, uint16_t rows, struct run_request *asked, struct error *err)
{
    static const struct span term = {"TERM", 4};

    asked->has_terminal = true;
    asked->columns = columns;
    asked->rows = rows;
    for (size_t i = 0; i < asked->n_env; i++)
        if (span_is(asked->env[i].name, term.data))
            return 0;
    return run_request_add_variable(asked, term, "xterm-256color", err);
}

/* Its input is typed. */
static int read_pty(const json_t *body, struct run_request *asked, struct error *err)
{
    const json_t *pty = json_object_get(body, "pty");

    if (!pty)
        return 0;
    if (asked->input.data) {
        error_set(err, E_INVALID, "`pty`: a terminal has no `stdin` and no `stdin_open`");
        return error_hint(err, "send what is typed with `POST …/stdin`, once it has begun");
    }
    return api_read_terminal(terminal_side(pty, "cols"), terminal_side(pty, "rows"), asked, err);
}

static int read_command(const json_t *body, struct run_request *asked, struct buf *line,
                        struct error *err)
{
    const json_t *input = json_object_get(body, "stdin");

    asked->is_input_open = json_is_true(json_object_get(body, "stdin_open"));
    if (input || asked->is_input_open)
        asked->input = (struct span){input ? json_string_value(input) : "",
                                     input ? json_string_length(input) : 0};
    asked->wants_receipt = json_is_true(json_object_get(body, "receipt"));
    if (api_read_terms(body, asked, err) < 0 || read_pty(body, asked, err) < 0)
        return -1;
    return read_words(body, asked, line, err);
}

static void start_command(struct request *request)
{
    struct api *api = request->api;
    struct admission admission = api_admission(api, request->caller);
    struct session *session = api_is_repeat(request) ? NULL : api_find_session(request);
    cleanup(run_request_done) struct run_request asked = {0};
    cleanup(buf_done) struct buf line = BUF_OF(LIMIT_COMMAND_LINE);
    struct job_order order;
    struct run *run = NULL;
    struct error err = {0};

    if (!session)
        return;
    admission.session = session;
    admission.may_keep = true; /* the record of its changes */
    if (read_command(request->json, &asked, &line, &err) < 0 ||
        admit_request(&admission, &asked, &run, &err) < 0) {
        api_refuse(request, "run", &err);
        return;
    }
    order = job_order_of(request, run);
    order.session = session;
    order.is_detached = json_is_true(json_object_get(request->json, "background"));
    order.correlation_id = json_string_value(json_object_get(request->json, "correlation_id"));
    (void)jobs_start_or_answer(api->jobs, request, &order);
}

/* --- looking at them --- */

static void list_commands(struct request *request)
{
    struct api *api = request->api;
    struct session *session = api_find_session(request);
    struct job_filter filter = {.is_command = true};
    struct session_info info;

    if (!session)
        return;
    session_info(session, &info);
    filter.session = info.id;
    request_answer_json(
        request, 200,
        json_pack("{s:o}", "commands", jobs_list(api->jobs, request->owner, &filter, LIST_MAX)));
}

static void follow(struct job *job, struct request *request)
{
    const uint64_t after[2] = {
        (uint64_t)json_integer_value(json_object_get(request->query, "stdout")),
        (uint64_t)json_integer_value(json_object_get(request->query, "stderr")),
    };

    job_read_output(job, request, after, !json_is_false(json_object_get(request->query, "wait")));
}

static void show_command(struct request *request)
{
    struct job *job = api_find_command(request);

    if (job && route_wants_events(request))
        follow(job, request);
    else if (job)
        job_show(job, request);
}

/* --- while it runs --- */

static void answer(struct request *request, int r, struct error *err)
{
    if (r < 0)
        request_answer_error(request, err);
    else
        request_answer_empty(request, 204);
}

static int send_input(struct job *job, const json_t *body, struct error *err)
{
    const json_t *text = json_object_get(body, "text"), *coded = json_object_get(body, "base64");
    bool closes = json_is_true(json_object_get(body, "close"));
    cleanup(buf_done) struct buf bytes = BUF_OF(INPUT_BYTES);

    if (text && coded)
        return error_set(err, E_INVALID, "expected `text` or `base64`, not both");
    if (text)
        return job_input(job, json_string_value(text), json_string_length(text), closes, err);
    if (coded &&
        base64_decode(&bytes, json_string_value(coded), json_string_length(coded), err) < 0)
        return error_wrap(err, "`base64`");
    return job_input(job, buf_str(&bytes), bytes.len, closes, err);
}

static void give_input(struct request *request)
{
    struct job *job = api_find_command(request);
    struct error err = {0};

    if (job)
        answer(request, send_input(job, request->json, &err), &err);
}

static void send_signal(struct request *request)
{
    struct job *job = api_find_command(request);
    struct error err = {0};
    int sig;

    if (!job)
        return;
    sig = api_signal_of(json_string_value(json_object_get(request->json, "signal")));
    answer(request, job_signal(job, sig, &err), &err);
}

static void resize(struct request *request)
{
    struct job *job = api_find_command(request);
    struct error err = {0};

    if (job)
        answer(request,
               job_resize(job, terminal_side(request->json, "cols"),
                          terminal_side(request->json, "rows"), &err),
               &err);
}

static void kill_command(struct request *request)
{
    struct job *job = api_find_command(request);
    bool runs = job && job_run(job);

    if (!job)
        return;
    job_cancel(job);
    request_answer_json(request, 200, json_pack("{s:b}", "cancelled", (int)runs));
}

/* clang-format off */
const struct route api_command_routes[] = {
    {"POST", "/v1/sessions/{session}/commands", start_command, .body = start_fields,
     .max_body = API_BODY_BYTES, .takes_key = true, .streams = true, .answers = "Result", .status = 200,
     .tag = "commands",
     .summary = "run a command in the sandbox of a session, beside its cells"},
    {"GET", "/v1/sessions/{session}/commands", list_commands, .answers = "Commands", .status = 200,
     .tag = "commands", .summary = "the commands of a session, the last first"},
    {"GET", "/v1/sessions/{session}/commands/{command}", show_command, .query = show_fields,
     .streams = true, .answers = "Result", .status = 200, .tag = "commands",
     .summary = "the answer of a command, or its output so far; as events, what follows, too"},
    {"DELETE", "/v1/sessions/{session}/commands/{command}", kill_command, .answers = "Cancelled",
     .status = 200, .tag = "commands", .summary = "kill a command and what it started"},
    {"POST", "/v1/sessions/{session}/commands/{command}/stdin", give_input, .body = input_fields,
     .max_body = 8 * MIB, .status = 204, .tag = "commands",
     .summary = "write to the standard input of a command, or close it"},
    {"POST", "/v1/sessions/{session}/commands/{command}/signal", send_signal,
     .body = signal_fields, .max_body = KIB, .status = 204, .tag = "commands",
     .summary = "send a signal to a command and what it started"},
    {"POST", "/v1/sessions/{session}/commands/{command}/resize", resize, .body = size_fields,
     .max_body = KIB, .status = 204, .tag = "commands",
     .summary = "set the size of the terminal of a command"},
    {0},
};
/* clang-format on */
