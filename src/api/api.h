/* The native API: what its handlers share. */
#pragma once

#include "admit/caller.h"
#include "admit/profiles.h"
#include "admit/request.h"
#include "api/idempotency.h"
#include "api/job.h"
#include "api/metrics.h"
#include "api/router.h"
#include "api/under_way.h"
#include "base/config.h"
#include "base/date.h"
#include "base/loop.h"
#include "base/spool.h"
#include "engine/pool.h"
#include "engine/recorder.h"
#include "engine/session.h"
#include "http/server.h"
#include "store/store.h"

/* The virtual machine of a server, for operators (vm/door.h). */
struct machine_door {
    void *user;
    json_t *(*status)(void *user);
    bool (*stop)(void *user); /* false: there was none */
    int (*log)(void *user, struct buf *out, struct error *err);
};

struct api {
    const struct config *config;
    struct loop *loop;
    struct pool *pool;
    struct sessions *sessions;
    struct profiles *profiles;
    struct jobs *jobs;
    struct coderunner *coderunner;
    struct e2b *e2b;
    struct jupyter *jupyter;
    struct queue *queue;
    struct auth *auth;
    struct metrics *metrics;
    struct http_server *http;
    struct recorder *recorder;
    struct idempotency *idempotency;
    struct durable *durable; /* api/durable.h */
    struct mcp_http *mcp;
    struct changes_jobs changes;
    struct undo_jobs undos;
    size_t n_token_changes; /* that workers make, one at a time */
    json_t *doctor;         /* the last report, or NULL */
    uint64_t doctor_ns;     /* when it came */
    bool is_doctor_busy;
    const char *config_path; /* of --config, or NULL */
    size_t n_audit_readers;  /* worker processes of all callers */
    struct openapi *openapi;
    struct events *events;
    bool has_console; /* there is a page at /console */
    char origin[96];  /* of the first address that it listens at; "": none */
    char started_at[DATE_SIZE];
    const struct machine_door *machine; /* NULL: programs run on this host */
    struct spent *spent; /* on other machines of a cluster, admit/spent.h; NULL: there are none */
    struct store *store; /* what outlives runs; NULL: there is no place for it */
};

extern const struct route api_approval_routes[];
extern const struct route api_audit_routes[];
extern const struct route api_operator_routes[];
extern const struct route api_console_routes[];
extern const struct route api_doctor_routes[];
extern const struct route api_machine_routes[];
extern const struct route api_event_routes[];
extern const struct route api_job_routes[];
extern const struct route api_replica_routes[];
extern const struct route api_inside_routes[];
extern const struct route api_token_routes[];
extern const struct route api_run_routes[];
extern const struct route api_batch_routes[];
extern const struct route metrics_routes[];
extern const struct route api_command_routes[];
extern const struct route api_context_routes[];
extern const struct route api_copy_routes[];
extern const struct route api_changes_routes[];
extern const struct route api_inspect_routes[];
extern const struct route api_session_routes[];
extern const struct route api_terminal_routes[];
extern const struct route api_file_routes[];
extern const struct route api_output_routes[];
extern const struct route api_port_routes[];
extern const struct route api_skill_routes[];
extern const struct route api_undo_routes[];
extern const struct route api_watch_routes[];
extern const struct route api_verify_routes[];
extern const struct route api_work_routes[];
extern const struct route api_meta_routes[];

/* Bytes of a JSON body: a program of LIMIT_CODE_BYTES, written in escapes of six bytes for each of
 * its own, and some input. */
#define API_BODY_BYTES (8 * MIB)

/* --- fields that several bodies have --- */

/* Limits that a request may name (base/run_limits.h), each with a comma behind it. The settings and
 * the token may allow less. */
/* clang-format off */
#define API_LIMITS_OF_CELL    RUN_LIMITS_OF_CELL(API_LIMIT)
#define API_LIMITS_OF_SANDBOX RUN_LIMITS_OF_SANDBOX(API_LIMIT)

#define API_LIMIT(name, member, ctype, kind, per, min_, max_, default_, flag, variables, brief,    \
                  help_)                                                                           \
    {#name, API_LIMIT_##kind, .min = (double)(min_), .max = (double)(max_), .help = (help_)},

#define API_LIMIT_SECONDS SCHEMA_NUMBER
#define API_LIMIT_CORES   SCHEMA_NUMBER
#define API_LIMIT_COUNT   SCHEMA_INTEGER
#define API_LIMIT_MB      SCHEMA_INTEGER
#define API_LIMIT_BYTES   SCHEMA_INTEGER

/* The time limit by itself, for the tools of MCP. */
#define API_TIMEOUT_FIELD                                                                          \
    {"timeout_s", SCHEMA_NUMBER, .min = RUN_LIMIT_MIN_timeout_s, .max = RUN_LIMIT_MAX_timeout_s,   \
     .example = "60", .help = "wall-clock limit in seconds"}

#define API_CODE_FIELDS                                                                            \
    {"code", SCHEMA_STRING, .is_required = true, .max_len = LIMIT_CODE_BYTES,                      \
     .help = "the program"},                                                                       \
    API_INPUT_FIELDS

/* GET /v1/languages says which of them the host has. */
#define API_LANGUAGE_FIELD                                                                         \
    {"language", SCHEMA_STRING, .choices = LANGUAGE_NAMES, .has_alias = schema_has_language,       \
     .example = "\"python\"", .help = "default: python"}

#define API_INPUT_FIELDS                                                                           \
    API_LANGUAGE_FIELD,                                                                            \
    {"stdin", SCHEMA_STRING, .help = "its standard input"},                           \
    {"auto_print", SCHEMA_BOOLEAN,                                                                 \
     .help = "echo the last expression, as the Python prompt does"},                               \
    {"correlation_id", SCHEMA_STRING, .max_len = 128,                                              \
     .help = "comes back with the answer; one is made up without it"},                             \
    {"receipt", SCHEMA_BOOLEAN, .help = "also return a signed receipt"}

#define API_PROGRAM_FIELDS                                                                         \
    {"filename", SCHEMA_STRING, .max_len = 4096,                                                   \
     .help = "name of the program, in tracebacks and as its own name"},                       \
    {"args", SCHEMA_STRINGS, .max_len = LIMIT_ARGS_COUNT - 1, .help = "its arguments"}

/* Of routes that start a run. */
#define API_DETACH_FIELD                                                                           \
    {"detach", SCHEMA_BOOLEAN,                                                                     \
     .help = "answer at once with the id; the run goes on without the client"}

#define API_SEED_FIELD                                                                             \
    {"seed", SCHEMA_INTEGER, .min = 0, .max = (double)LIMIT_SEED,                                  \
     .help = "the same program and input give the same output"}

#define API_PROFILE_FIELDS                                                                         \
    {"profile", SCHEMA_STRING, .max_len = 64, .help = "name of its profile"},    \
    {"env", SCHEMA_MAP, .max_len = LIMIT_ENV_COUNT, .help = "variables to set inside"},            \
    {"environment", SCHEMA_STRING, .max_len = 64,                                                  \
     .help = "name of the environment with its packages"},                               \
    {"allow", SCHEMA_STRINGS, .max_len = LIMIT_GRANTS,                                             \
     .help = "directories of the host that it sees at their own place: DIR, DIR:rw to write, or "       \
             "DIR:cow (sessions): what it writes waits to be applied or discarded"},           \
    {"workdir", SCHEMA_STRING, .max_len = 4096,                                                    \
     .help = "where it starts: /workspace or a granted directory; without it, the granted "        \
             "directory if there is one"},                                                         \
    {"net", SCHEMA_STRINGS, .max_len = LIMIT_NET_GRANTS,                                           \
     .help = "hosts that it may reach, of those that the operator allows: api.example.org:443, "   \
             "*.example.org, http://HOST:PORT/PATH/"}
/* clang-format on */

/* The body of a durable job (api/durable.h). */
extern const struct schema_field durable_fields[], durable_import_fields[];

/* For routes with `takes_key`, first of all: true when the request was sent before under the same
 * key, or its key is wrong, and the answer is given or will be. */
bool api_is_repeat(struct request *request);

/* Looks up the key without an answer: -1: the key is invalid, or belongs to another body, and the
 * answer has been given; 0: there is no key, or it is new; 1: it is known. */
int api_read_key(struct request *request);

/* The command of the path; NULL: the answer has been given. */
struct job *api_find_command(struct request *request);

/* The command has a terminal of that size. After its variables were read. */
int api_read_terminal(uint16_t columns, uint16_t rows, struct run_request *asked,
                      struct error *err);

/* A signal by its name, with or without SIG; 0: there is none. */
#define API_SIGNALS "TERM,KILL,INT,HUP,QUIT,USR1,USR2,STOP,CONT,WINCH"
int api_signal_of(const char *name);

/* Answers with the error; what somebody may not do is written down. Empties the error. */
void api_refuse(struct request *request, const char *what, struct error *err);

/* A request that waits for something of a session. Its client may go; what was begun is done all
 * the same. */
struct api_waiting {
    struct request *request; /* NULL: the client has gone */
    struct session *session;
};

/* For the session of the path; NULL: there is none, or no memory. Free it when the answer is there.
 */
struct api_waiting *api_wait(struct request *request, struct error *err);

/* There is nothing to wait for after all. */
void api_wait_end(struct api_waiting *w);

/* The store, or NULL and an error if there is no place for it. */
struct store *api_store(const struct api *api, struct error *err);

/* Answers with what was kept, which was a stranger's, masked. Takes the value over. */
void api_answer_masked(struct request *request, int status, json_t *value);

/* Answers with a further member, given as the text of its JSON. Takes that as well. */
void api_answer_masked_with(struct request *request, int status, json_t *value, const char *name,
                            struct buf *text);

/* Masks a copy of these bytes, which are text, and sends them as a file. */
void api_send_masked(struct request *request, struct span data);

/* Answers with the bytes of an open file, or the part that `Range` names; takes the descriptor
 * over. A program's bytes are never a page of ours: the type says only that they are bytes. */
void api_send_file(struct request *request, int fd, uint64_t size);

/* Passes a request on to a server in the session, at the port that stands behind `/ports/` in its
 * path; and the end of its body (struct route, begin and handle). */
int api_port_begin(struct request *request, struct session *session, struct error *err);
void api_port_handle(struct request *request);

/* The session of the path, or NULL and the answer has been given. */
struct session *api_find_session(struct request *request);

json_t *api_session_json(const struct session *session);
json_t *api_evicted_json(const char *evicted); /* of struct session_info */

/* Makes a request from a checked body; `parts` are those of a form, or NULL. The texts are the
 * body's. End it with run_request_done(), also after a failure. */
int api_read_request(const json_t *body, const struct multipart *parts, struct run_request *asked,
                     struct error *err);

/* Reads the request without the program: rights and limits. */
int api_read_terms(const json_t *body, struct run_request *asked, struct error *err);

/* Makes it a command: a line for Bash, with a NUL behind it, which outlives the request. */
int api_read_line(const char *line, size_t len, struct run_request *asked, struct error *err);

/* Makes it a command: the program and its arguments, which are an array of strings with at least
 * one. Both the array and `line`, which is filled, outlive the request. */
int api_read_words(const json_t *words, struct run_request *asked, struct buf *line,
                   struct error *err);

/* For requests of this caller, which have a sandbox of their own and neither skills nor states
 * until one says otherwise. */
struct admission api_admission(const struct api *api, const struct caller *caller);

/* The run that a body asks for, in a sandbox of its own. The caller's. */
int api_make_run(const struct request *request, const json_t *body, struct run **ret_run,
                 struct error *err);

/* Makes the run of a body that was kept, for that caller. */
int api_make_run_of(const struct api *api, const struct caller *caller, const json_t *body,
                    struct run **ret_run, struct error *err);

/* The most this client may ask for: the settings' bound, or the lower one of its token. */
double api_limit_max(const struct api *api, const struct caller *caller, enum run_limit_row row);

/* --- answers that MCP gives too --- */

/* {"files","has_more","is_partial"} */
json_t *api_files_json(const struct files_list *list);

/* The body of `GET /v1/runs/{run}/output` for a checked query. NULL: *err says why. */
extern const struct schema_field api_output_fields[];
json_t *api_output_json(const struct job *job, const json_t *query, struct error *err);

/* Returns a part of any spool as JSON. */
json_t *api_spool_json(const struct spool *spool, const json_t *query, struct error *err);

/* A clock of a session: what was asked for in seconds (NULL: nothing), at most the operator's. */
int api_read_clock(const json_t *body, const char *name, double most_s, uint64_t *ret_ms,
                   struct error *err);
