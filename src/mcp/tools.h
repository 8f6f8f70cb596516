/* Belljar's own tools, resources and prompts for MCP: one host for all transports of a process.
 *
 * A legacy peer has a session of its own, opened when it is first needed and ended with the peer;
 * other sessions are named by `session_id`. In the modern era a call without one runs in a fresh
 * sandbox. Runs go the way of the HTTP API (api/job.h): the same queue, limits, masking and
 * accounting.
 */
#pragma once

#include "api/api.h"
#include "calls/apis.h"
#include "calls/stored.h"
#include "mcp/call.h"
#include "mcp/mcp.h"

#define MCP_TOOLS_MAX 40

/* A path with each byte escaped, and what stands in front of it. */
#define MCP_URI_MAX ((size_t)5 * PATH_MAX)

struct mcp_running; /* mcp_tool_run.c */

struct mcp_host {
    struct api *api;
    struct mcp_server *server;
    const struct run *granted; /* whose directories every sandbox gets; NULL: none */
    /* Runs whose clients were asked and have not returned. Each ends when its question expires.
     */
    struct mcp_running *asked;
    struct mcp_running *left; /* that go on after the answer of their call (tool_wait.c) */
    bool is_pipe;             /* one client, which owns this process: its session has no clocks */

    const struct mcp_tool *few[MCP_TOOLS_MAX + 1];    /* what most work needs */
    const struct mcp_tool *listed[MCP_TOOLS_MAX + 1]; /* all that the host has a use for */
    const struct mcp_tool *unlisted[MCP_TOOLS_MAX + 1];
};

/* `compat` is the setting mcp_compat. The caller fills in api, granted and is_pipe before. */
int mcp_host_open(struct mcp_host *host, const char *compat, struct error *err);
void mcp_host_close(struct mcp_host *host); /* when its peers are gone */

/* Whether a word of a hint is the name of a tool, whatever is listed. */
bool mcp_is_tool(const char *word, size_t len);

/* --- shared by the tools --- */

struct mcp_host *mcp_host_of(const struct mcp_call *call);

/* The session that a call names, or that it has without naming one. NULL and no error: none, as a
 * modern call without a name has. `opens`: one that is not there yet is opened. */
int mcp_session_pick(struct mcp_call *call, bool opens, struct session **ret_session,
                     const char **ret_note, struct error *err);

/* Says which sessions ended to make room for a new one, unless that is NULL. */
void mcp_evicted_note(const char *evicted, struct buf *out);

/* For tools that need a session. */
struct session *mcp_session_need(struct mcp_call *call, struct error *err);

void mcp_session_end(struct mcp_peer *peer);

/* Puts the hosts that the call asks for (`net`, an array of strings) into the request. Without the
 * argument it has what the command gave; with it, those alone. */
int mcp_ask_net(const struct mcp_call *call, struct run_request *asked, struct error *err);

/* For requests of this call: all that `belljar mcp` was given is granted to a sandbox. */
struct admission mcp_admission(const struct mcp_call *call);

/* Runs the code and answers with `answer`, which makes the result of it. */
struct mcp_program {
    const char *code;
    size_t len;
    enum run_language language;
    const char *profile; /* of a fresh run; NULL: that of the settings */
    bool has_timeout;
    double timeout_s;
    bool has_wait; /* the client is answered after so many seconds, and the code goes on */
    double wait_s;
    bool is_check;            /* nothing of it is run */
    bool masks_all;           /* personal data, too */
    bool needs_all;           /* `answer` shortens the output itself */
    struct session *session;  /* NULL: a fresh sandbox, */
    const char *session_name; /* that knows the session by this name; or NULL */
    bool is_new;              /* the session was opened on request, and has an id to be kept */
    const char *note;         /* for the reader of the result, or NULL */
    json_t *(*answer)(struct mcp_call *call, const struct run *run, const char *note);
    /* Answers the call, now or later, and returns true. False: `answer` does. Optional. */
    bool (*settle)(struct mcp_call *call, const struct run *run);
};

void mcp_run(struct mcp_call *call, const struct mcp_program *program);

/* Code that nobody waits for goes on for as long as may be asked for, within reason: the seconds.
 * 0: the operator has set a limit, which holds for all code. */
double mcp_long_s(const struct mcp_call *call);

/* A cell of the session that the call means; its code is the argument of that name. */
void mcp_run_cell(struct mcp_call *call, const char *argument, enum run_language language);

/* The phrase with which a reader calls a tool: by its name if it is listed, else through `more`.
 * `arguments` is the inside of a JSON object, or "". */
int mcp_add_way(const struct mcp_call *call, const char *tool, const char *arguments,
                struct buf *out);

/* The tool that runs code, as the reader knows it. */
const char *mcp_runner(const struct mcp_call *call);

/* --- where code runs (place.c) --- */

/* One line for the instructions, or nothing where nothing is granted to the caller. */
void mcp_place_instruct(const struct mcp_server *server, const struct caller *caller,
                        struct buf *out);

/* Adds the note for a session, without the newline. */
void mcp_place_note(const struct mcp_call *call, struct session *session, struct buf *out);

/* Adds it as a line of its own, "[in /srv/project, writable]". False: it has to be a note. */
bool mcp_place_mark(const struct mcp_call *call, struct session *session, struct buf *out);

/* Everything, one fact a line. NULL: of a sandbox that the call would get. */
void mcp_place_add(const struct mcp_call *call, struct session *session, struct buf *out);

/* --- results (mcp_result.c) --- */

/* The parts of an answer: text for a model, data for a program, pictures, and links to files. */
json_t *mcp_result(struct mcp_call *call, const struct run *run, const char *note);

/* The place of a program's text in a result. */
enum mcp_words {
    MCP_WORDS_FIRST,  /* first, or behind the status */
    MCP_WORDS_LINES,  /* in lines of its own */
    MCP_WORDS_INSIDE, /* it goes on in a line of Belljar's */
};

/* Adds the text. A line of it that looks like one of Belljar's gets a mark, `| `. */
int mcp_add_words(struct buf *out, const char *text, size_t len, enum mcp_words where);

/* Adds what the model reads of it to `out`. */
/* The value of `result` or of the last expression; a table in its exact form. */
int mcp_add_value(const struct run *run, struct buf *out);

/* The result as CSV if it is a table, or NULL. */
const struct run_form *mcp_result_table(const struct run *run);

/* Displays other than pictures, in their plainest form; pictures follow the text. */
int mcp_add_displays(const struct run *run, struct buf *out);
void mcp_add_pictures(const struct run *run, json_t *content);

/* The largest pictures that models take; their makers scale down or refuse larger ones. */
#define MCP_PICTURE_SIDE 1568
#define MCP_PICTURE_MAX  ((size_t)3 * MIB)
bool mcp_picture_fits(const char *head, size_t head_len, uint64_t size);

/* So many bytes at the end of a standard error are the traceback of the exception. */
size_t mcp_traceback_tail(const struct run *run, const char *text, size_t len);

/* The places in the program, unless there is only the one that the result begins with. */
int mcp_add_traceback(const struct run *run, struct buf *out);

int mcp_result_text(const struct mcp_call *call, const struct run *run, const char *note,
                    struct buf *out);

/* {"content":[{"type":"text",…}]} */
json_t *mcp_text_result(const char *text, size_t len, bool is_error);

/* Whether the client gets links to resources and structured content: it knows them (2025-06-18),
 * and did not call a tool of the short list, whose text says it all. */
bool mcp_result_has_links(const struct mcp_call *call);

/* "belljar://sessions/…/files/…" */
int mcp_file_uri(const char *session_id, const char *path, struct buf *out, struct error *err);

/* A program's text that reached us beside its streams, masked as those are. The caller frees it;
 * NULL: out of memory, or the masker failed. */
char *mcp_mask(const struct mcp_host *host, const char *text, size_t len, size_t *ret_len);

/* Caches and settings of programs, which nobody asked about. */
bool mcp_is_hidden(const char *path);

/* Names of files are a program's words as well: adds one as text of one line, masked. */
int mcp_add_name(const struct mcp_host *host, const char *path, struct buf *out);

/* Does it for the `path` of each object in the list. */
void mcp_mask_names(const struct mcp_host *host, json_t *list);

/* --- what outlives runs (mcp_tool_work.c) --- */

/* The store, or NULL and an error where there is no place for one. */
struct store *mcp_store(const struct mcp_call *call, struct error *err);

/* The owner of the data that a call finds there. The one client of a pipe is the user, as is the
 * holder of a server's first token. */
const char *mcp_store_owner(const struct mcp_call *call);

/* A result that is the object, as text and in structure, masked. Takes it. NULL: the masker failed.
 */
json_t *mcp_object_result(struct mcp_call *call, json_t *object, bool is_error);

/* Answers with the object, as text and in structure, masked. Takes it. */
void mcp_answer_object(struct mcp_call *call, json_t *object);

/* Answers with a failure: {"status":"error","error"}. Empties the error. */
void mcp_answer_error(struct mcp_call *call, struct error *err);

/* Answers with the result of a function of calls/stored.h for the call's arguments. */
void mcp_answer_stored(struct mcp_call *call, stored_fn fn);

/* --- what code can import (tool_apis.c) --- */

struct apis_place mcp_apis_place(const struct mcp_call *call);

/* Calls `then` when the tools of the server that `name` is about are known, if it is about one. */
void mcp_apis_with(struct mcp_call *call, const char *name, void (*then)(struct mcp_call *call));

/* --- files (mcp_tool_files.c) --- */

/* Calls `then` with the files of the session, when there are any: a session that is only just
 * starting is waited for. */
void mcp_with_files(struct mcp_call *call, struct session *session,
                    void (*then)(struct mcp_call *call, const char *session_id,
                                 const struct files *files));

/* Files in a granted directory, named by their full path or relative to a workdir in one. A program
 * in the session's sandbox does the work, and its result answers the call. So it is with all files
 * of a session that is elsewhere (engine/elsewhere.h). False: the path is not in a granted
 * directory. */
enum mcp_file_work { MCP_FILE_READ, MCP_FILE_WRITE, MCP_FILE_LIST };
bool mcp_granted_file(struct mcp_call *call, struct session *session, enum mcp_file_work work);

/* The part of a text that read_file is asked for. */
struct mcp_part {
    uint64_t line;   /* from this line on; 0: by bytes */
    uint64_t lines;  /* at most so many; 0: as many as fit */
    uint64_t offset; /* of the first byte, if there is no line */
    size_t limit;    /* bytes at most */
};

void mcp_part_of(const struct mcp_call *call, struct mcp_part *ret_part);

/* A page of a file. */
struct mcp_page {
    uint64_t size;     /* of the file */
    uint64_t end;      /* the byte after it */
    uint64_t line;     /* its first line; 0: it was asked for by bytes */
    uint64_t end_line; /* the line after it */
    bool has_more;
};

/* The result that shows a page: as much of the text as fits, and where to read on. */
json_t *mcp_page_result(const struct mcp_call *call, struct buf *text, const struct mcp_page *page);

/* One file's bytes as content of a resource: {"uri","mimeType","text"|"blob"}. */
json_t *mcp_file_contents(const struct mcp_host *host, const struct files *files, const char *path,
                          const char *uri, struct error *err);

extern const struct mcp_tool mcp_tool_python, mcp_tool_bash, mcp_tool_status, mcp_tool_interrupt,
    mcp_tool_restart, mcp_tool_fork, mcp_tool_wait, mcp_tool_check, mcp_tool_open_sessions,
    mcp_tool_end, mcp_tool_keep, mcp_tool_command, mcp_tool_output, mcp_tool_read, mcp_tool_write,
    mcp_tool_list, mcp_tool_changes, mcp_tool_undo;
extern const struct mcp_tool mcp_tool_work_create, mcp_tool_work_save, mcp_tool_work_load,
    mcp_tool_work_list, mcp_tool_work_delete, mcp_tool_skill_save, mcp_tool_skill_list,
    mcp_tool_skill_info, mcp_tool_skill_file, mcp_tool_apis;
extern const struct mcp_tool mcp_door_run, mcp_door_read, mcp_door_write, mcp_door_more;
extern const struct mcp_tool mcp_compat_execute_python, mcp_compat_execute_code,
    mcp_compat_python_command, mcp_compat_bash_command, mcp_compat_status, mcp_compat_navigate;
extern const struct mcp_resource *const mcp_resources[];
extern const struct mcp_prompt *const mcp_prompts[];
void mcp_resources_list(struct mcp_call *call, json_t *list);

/* clang-format off */
#define MCP_SESSION_FIELD                                                                          \
    {"session_id", SCHEMA_STRING, .max_len = 64, .example = "\"ses_…\"",                           \
     .help = "a session"}

/* Seconds: no client waits longer for an answer. */
#define MCP_WAIT_MAX 3600

#define MCP_WAIT_FIELD                                                                             \
    {"wait_s", SCHEMA_NUMBER, .min = 0, .max = MCP_WAIT_MAX, .example = "10",                      \
     .help = "answer by then; code goes on"}
/* clang-format on */
