/* The interface of E2B, below /e2b: what its files share.
 *
 * It is four protocols behind one port. The control plane (e2b_control.c) makes and ends sandboxes
 * for whoever has a token. Each sandbox has tokens of its own, with which its programs
 * (e2b_process.c), files (e2b_files.c, e2b_filesystem.c) and cells (e2b_execute.c) are reached; the
 * headers say which sandbox is meant. Each protocol has its own form of errors (e2b_error.c).
 *
 * A sandbox is a session of the token that made it (engine/session.h), a program a command beside
 * its kernels, a cell a cell.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <jansson.h>

#include "api/api.h"
#include "base/id.h"
#include "base/shared.h"
#include "base/task.h"
#include "compat/e2b.h"

/* The version of the other side's server that this one is like. Clients leave out what came later.
 */
#define E2B_VERSION "0.6.13"

/* 130 bits, so that nobody finds a sandbox by chance. */
#define E2B_ID_LEN    26
#define E2B_TOKEN_LEN 68 /* a prefix of four characters, and 256 bits */

#define E2B_HOME "/home/user"

/* Of a domain with its port. */
#define E2B_DOMAIN_MAX 256

/* Bodies of messages. */
#define E2B_BODY_BYTES API_BODY_BYTES

/* Of a sandbox's services. */
enum e2b_port { E2B_PORT_ENVD = 49983, E2B_PORT_INTERPRETER = 49999 };

struct e2b_process; /* e2b_process.c */

/* --- streams: answers without a known end --- */

struct e2b_stream {
    LIST_ENTRY(e2b_stream) link;
    struct e2b *e2b;
    struct request *request; /* NULL: it has ended, or its reader has gone */
    bool is_behind;          /* the reader is */
    uint64_t wrote_ns;
    uint64_t ping_ms;
    struct span ping; /* sent after so long a silence; lives as long as the program */
};

struct e2b {
    struct loop *loop;
    TAILQ_HEAD(e2b_sandboxes, e2b_sandbox) sandboxes; /* the last first */
    uint64_t last_serial;
    bool is_beyond; /* other machines reach the server */
    LIST_HEAD(, e2b_stream) streams;
    TAILQ_HEAD(e2b_processes, e2b_process) orphans; /* that outlive their sandbox for a moment */
    struct loop_watch *tick;
    bool is_ticking;
};

/* Begins the answer. The owner sets on_gone and on_drained of the request afterwards. */
void e2b_stream_begin(struct e2b_stream *stream, struct e2b *e2b, struct request *request,
                      const char *type);
void e2b_stream_write(struct e2b_stream *stream, const void *data, size_t len);
void e2b_stream_end(struct e2b_stream *stream);

/* The reader has gone. */
void e2b_stream_drop(struct e2b_stream *stream);
void e2b_stream_tick(void *arg);

/* --- e2b_metrics.c: figures of a sandbox's use --- */

/* One for each request, and the last of them. */
#define E2B_METRICS_MAX 60

struct e2b_metric {
    uint64_t at_ms; /* since 1970 */
    uint64_t memory_bytes, files_bytes;
    uint64_t cpu_ns; /* in all */
    double cpu_percent;
};

struct e2b_metrics {
    struct e2b_metric ring[E2B_METRICS_MAX];
    size_t first, count;
};

/* --- e2b_sandbox.c: the table --- */

#define E2B_WRITTEN_MAX 64

struct e2b_sandbox {
    TAILQ_ENTRY(e2b_sandbox) link;
    struct e2b *e2b;
    uint64_t serial; /* in order of their beginning */
    char id[E2B_ID_LEN + 1];
    char name[E2B_ID_LEN + 2 + ID_NODE_MAX]; /* the id, and the name of this node if it has one */
    char access_token[E2B_TOKEN_LEN + 1];
    char traffic_token[E2B_TOKEN_LEN + 1];
    struct session *session;
    struct caller *caller; /* who made it */
    unsigned generation;   /* of the caller, then */
    json_t *metadata;
    char domain[E2B_DOMAIN_MAX]; /* below which its host names are; "": nowhere */
    size_t file_metadata_bytes;  /* about */
    json_t *file_metadata;       /* of its files, by path; or NULL */
    struct e2b_metrics *metrics; /* NULL: nobody has asked for them */
    char *template;
    uint64_t started_ms, end_ms; /* since 1970 */
    uint64_t timeout_ms;         /* as it was asked for */
    bool pauses;                 /* at its end, instead of ending, */
    bool resumes;                /* and goes on when somebody wants something of it */
    bool has_no_token;           /* its old client sends none with cells: its id is the secret */
    struct loop_watch *end;
    bool is_ending;          /* nobody finds it any more */
    struct request *waiting; /* for its beginning; NULL: it has been answered */
    struct e2b_processes processes;
    size_t n_ended; /* of the processes */
    uint32_t last_pid;
    unsigned executions;
    LIST_HEAD(, e2b_watcher) watchers; /* e2b_watch.c */
    char *written[E2B_WRITTEN_MAX];    /* by clients: the latest paths, or NULL */
    size_t last_written;
};

/* A sandbox to be made. */
struct e2b_order {
    struct caller *caller; /* whose it is */
    unsigned generation;   /* of the caller */
    const char *template;
    const char *environment; /* NULL: that of the settings */
    const char *snapshot;    /* that it begins with; NULL: none */
    json_t *metadata;        /* borrowed, or NULL */
    json_t *env;             /* likewise */
    uint64_t timeout_ms;
    bool is_debug;               /* the one of the debug mode (e2b_debug.c) */
    bool has_no_token;           /* as in struct e2b_sandbox */
    bool pauses, resumes;        /* likewise */
    char domain[E2B_DOMAIN_MAX]; /* likewise */
};

/* The domain of the host names that lead to the server by which the request came to it. */
void e2b_read_domain(const struct request *request, char domain[E2B_DOMAIN_MAX]);

/* A name that nobody guesses. -1: Linux has no random bytes to give. */
int e2b_make_id(char id[E2B_ID_LEN + 1]);

/* Opens one for the request, which is answered when it stands; NULL: for nobody yet. */
int e2b_sandbox_open(struct api *api, struct request *request, const struct e2b_order *order,
                     struct error *err);

/* Makes one of a session that stands, a fork, whose on_end is e2b_sandbox_on_end() with `e2b`. */
struct e2b_sandbox *e2b_sandbox_adopt(struct e2b *e2b, const struct e2b_order *order,
                                      struct session *session, struct error *err);
void e2b_sandbox_on_end(void *user, struct session *session, const char *why);

/* Seconds in a body as milliseconds; without the member `usual_s`. */
int e2b_read_timeout(const struct request *request, const json_t *body, const char *name,
                     unsigned usual_s, uint64_t *ret_ms, struct error *err);

/* The sandbox of the path. NULL: the answer has been given. */
struct e2b_sandbox *e2b_sandbox_in_path(struct request *request);

/* Whether it is there for the token that has that name now. */
bool e2b_sandbox_is_of(const struct e2b_sandbox *sandbox, const char *owner);

/* The sandbox of that id; NULL: there is none. With an owner, only its own. */
struct e2b_sandbox *e2b_sandbox_find(const struct e2b *e2b, const char *id, size_t len,
                                     const char *owner);

void e2b_sandbox_close(struct e2b_sandbox *sandbox, const char *why);

bool e2b_sandbox_is_paused(const struct e2b_sandbox *sandbox);
int e2b_sandbox_pause(struct e2b_sandbox *sandbox, struct error *err);

/* It ends so long from now; a longer time than the session may live is cut. */
void e2b_sandbox_set_end(struct e2b_sandbox *sandbox, uint64_t timeout_ms);

/* The sandbox of a data-plane request that has been let in, and its session, which stands. NULL: it
 * has ended meanwhile, and the answer has been given. */
struct e2b_sandbox *e2b_sandbox_of(struct request *request);

/* Answers for its creation, or that of a fork, or a connection. */
json_t *e2b_sandbox_json(const struct e2b_sandbox *sandbox);

/* --- e2b_debug.c --- */

/* A request that came by a port of the debug mode; its sandbox is there afterwards, where that is
 * possible. */
bool e2b_is_debug(const struct request *request);

/* --- e2b_signature.c: signed addresses of files --- */

/* The text of a token or signature is as it should be; the time says nothing about where not. */
bool e2b_is_secret(struct span given, const char *secret);

/* A query as the handler will read it; lent by that. */
struct e2b_signed {
    const char *path, *user, *end, *signature;
    bool is_read;
};

/* False: it has expired, or can be no signed address. */
bool e2b_signature_read(const json_t *query, bool is_read, uint64_t now_ms,
                        struct e2b_signed *ret_signed);

/* Whether whoever has the token of a sandbox has made it. */
bool e2b_signature_is_of(const struct e2b_signed *given, const char *token);

/* --- who asks (struct route, identify) --- */

int e2b_identify_owner(struct request *request, struct caller **ret_caller, struct error *err);
int e2b_identify_envd(struct request *request, struct caller **ret_caller, struct error *err);
int e2b_identify_files(struct request *request, struct caller **ret_caller, struct error *err);
int e2b_identify_port(struct request *request, struct caller **ret_caller, struct error *err);
int e2b_identify_interpreter(struct request *request, struct caller **ret_caller,
                             struct error *err);

/* --- e2b_error.c: four forms of errors (struct route, on_error) --- */

void e2b_control_error(struct request *request, int status, struct error *err);
void e2b_rpc_error(struct request *request, int status, struct error *err);
void e2b_stream_error(struct request *request, int status, struct error *err);
void e2b_text_error(struct request *request, int status, struct error *err);

/* 502, as the proxy in front of a sandbox says that it is not there. */
void e2b_answer_gone(struct request *request, struct span id, const char *message);

/* An error of the RPC with a code of its own. */
void e2b_rpc_answer_code(struct request *request, int status, const char *code,
                         const char *message);
const char *e2b_rpc_code(enum error_code code);

/* Message and hint in one text. Empties the error. */
void e2b_error_text(struct error *err, struct buf *text);

/* The last envelope of a stream; code NULL: it ended well. */
void e2b_end_envelope(struct buf *out, const char *code, const char *message);

void e2b_answer_plain(struct request *request, int status, const char *text);

/* --- e2b_rpc.c: bodies and tasks --- */

/* Reads a body (struct route, load): JSON, or an envelope with JSON in it. */
json_t *e2b_load(const char *text, size_t len, json_t **ret_mistake);
json_t *e2b_load_envelope(const char *text, size_t len, json_t **ret_mistake);

/* The object of the body; an empty body is an empty object. NULL: the answer has been given. The
 * request owns it. */
json_t *e2b_body(struct request *request);

/* The member as text, in the spelling of either side; "" where there is none. */
const char *e2b_text(const json_t *body, const char *camel, const char *snake);

/* Whole milliseconds of a header; 0: there is none, or it is not a number. */
uint64_t e2b_header_number(const struct request *request, const char *name);

/* Work on files of the sandbox that may take several turns. */
struct e2b_task {
    struct task task;
    struct request *request;
    json_t *body; /* the request's */
    char path[PATH_MAX];
    char to[PATH_MAX];
    struct session *session; /* only before the first pause */
    struct error err;
    const char *code;    /* of an error with a code that only the RPC has; or NULL */
    int status;          /* goes with it */
    struct shared *text; /* the answer; NULL: an empty object */
};

void e2b_task_begin(struct request *request, json_t *body, void (*fn)(struct e2b_task *task));

/* --- e2b_path.c --- */

/* A path as programs of E2B write it, as files_path_check_tmp() has it. E_DENIED: it is neither
 * in the home directory nor in /tmp. */
int e2b_path_read(const char *given, char ret_path[PATH_MAX], struct error *err);

/* Reads the path of a directory to work in: an absolute path, anywhere. */
int e2b_path_directory(const char *given, char ret_path[PATH_MAX], struct error *err);

/* As programs of E2B know it. */
int e2b_path_write(const char *path, struct buf *out, struct error *err);

/* --- e2b_metadata.c --- */

/* Checks the metadata that the request has of a file; E_INVALID: it is too much. */
int e2b_metadata_check(const struct request *request, struct error *err);

/* Takes it from the request, which has written the file. Returns a reference, or NULL: none. */
json_t *e2b_metadata_set(struct e2b_sandbox *sandbox, const char *path,
                         const struct request *request);

/* Borrowed; NULL: none. */
json_t *e2b_metadata_get(const struct e2b_sandbox *sandbox, const char *path);

/* The file or directory has another path now; `to` NULL: it has gone. */
void e2b_metadata_move(struct e2b_sandbox *sandbox, const char *from, const char *to);

/* --- e2b_result.c --- */

/* One line of JSON in ASCII. Takes the value over. */
int e2b_line_add(struct buf *out, json_t *value, struct error *err);
json_t *e2b_display_json(const struct run_display *display);
json_t *e2b_value_json(const struct run *run);
json_t *e2b_error_json(const struct run *run);

/* --- e2b_variables.c: variables of sandboxes and programs, and of one cell --- */

int e2b_add_variable(const char *name, const json_t *value, struct run_request *asked,
                     struct error *err);

struct e2b_variables {
    struct request *request;
    struct e2b_sandbox *sandbox;
    json_t *values; /* borrowed; NULL: none */
    enum run_language language;
    char context[ID_SIZE]; /* as in struct run_program */
};

/* Has them set before the cell, which is started next. */
int e2b_variables_begin(struct e2b_variables *variables, const struct run *cell, struct error *err);

/* And afterwards back to what they were. */
void e2b_variables_end(const struct e2b_variables *variables);

/* --- handlers --- */

void e2b_create(struct request *request);
void e2b_connect(struct request *request);
void e2b_list(struct request *request);
void e2b_show(struct request *request);
void e2b_kill(struct request *request);
void e2b_pause(struct request *request);
void e2b_fork(struct request *request);
void e2b_make_snapshot(struct request *request);
void e2b_list_snapshots(struct request *request);
void e2b_forget_snapshot(struct request *request);
void e2b_set_timeout(struct request *request);
void e2b_refresh(struct request *request);
void e2b_show_metrics(struct request *request);
void e2b_unsupported(struct request *request);
void e2b_show_health(struct request *request);
int e2b_port_begin(struct request *request, struct error *err);

/* The sandbox that the name of the host names, or else the headers. */
struct span e2b_named_id(const struct request *request);
void e2b_unknown(struct request *request);

void e2b_process_start(struct request *request);
void e2b_process_connect(struct request *request);
void e2b_process_list(struct request *request);
void e2b_process_input(struct request *request);
void e2b_process_close_input(struct request *request);
void e2b_process_signal(struct request *request);
void e2b_process_update(struct request *request);
void e2b_rpc_unsupported(struct request *request);

/* Its sandbox has ended. */
void e2b_processes_done(struct e2b_sandbox *sandbox);
void e2b_processes_free(struct e2b_processes *list);

void e2b_file_get(struct request *request);
int e2b_file_begin(struct request *request, struct error *err);
void e2b_file_post(struct request *request);

void e2b_stat(struct request *request);
void e2b_list_dir(struct request *request);
void e2b_make_dir(struct request *request);
void e2b_move(struct request *request);
void e2b_remove(struct request *request);

/* As clients read an entry. */
struct files_entry;
json_t *e2b_entry_json(const struct e2b_sandbox *sandbox, const struct files_entry *entry);

void e2b_watch_dir(struct request *request);
void e2b_make_watcher(struct request *request);
void e2b_watcher_events(struct request *request);
void e2b_remove_watcher(struct request *request);

/* A client has written the file, whole and at once. */
void e2b_watch_written(struct e2b_sandbox *sandbox, const char *path);

/* Its sandbox ends. */
void e2b_watchers_done(struct e2b_sandbox *sandbox);

void e2b_execute(struct request *request);
void e2b_list_contexts(struct request *request);
void e2b_make_context(struct request *request);
void e2b_restart_context(struct request *request);
void e2b_remove_context(struct request *request);
