/* The table of E2B's routes (compat/e2b_internal.h). */
#include "compat/compat.h"
#include "compat/e2b_internal.h"

#define UPLOAD_BYTES ((uint64_t)1 << 40)

static const struct schema_field anything[] = {{0}};

static const struct schema_field list_fields[] = {
    {"metadata", SCHEMA_STRING, .max_len = 16384, .help = "k=v&…, each part encoded"},
    {"state", SCHEMA_STRINGS, .max_len = 8, .help = "running, paused"},
    {"template", SCHEMA_STRING, .max_len = 256, .help = "of this template"},
    {"startedAfter", SCHEMA_STRING, .max_len = 64, .help = "not looked at"},
    {"order", SCHEMA_STRING, .max_len = 16, .help = "asc or desc"},
    {"limit", SCHEMA_INTEGER, .min = 1, .max = 100, .help = "of a page"},
    {"nextToken", SCHEMA_STRING, .max_len = 32, .help = "of the page before"},
    {0},
};

static const struct schema_field snapshot_fields[] = {
    {"sandboxID", SCHEMA_STRING, .max_len = 128, .help = "of this sandbox"},
    {"name", SCHEMA_STRING, .max_len = 64, .help = "of this name"},
    {"limit", SCHEMA_INTEGER, .min = 1, .max = 100, .help = "of a page"},
    {"nextToken", SCHEMA_STRING, .max_len = 32, .help = "of the page before"},
    {0},
};

static const struct schema_field metrics_fields[] = {
    {"start", SCHEMA_INTEGER, .min = 0, .max = 1e15, .help = "since then"},
    {"end", SCHEMA_INTEGER, .min = 0, .max = 1e15, .help = "until then"},
    {0},
};

static const struct schema_field file_fields[] = {
    {"path", SCHEMA_STRING, .max_len = 4095, .help = "of the file"},
    {"username", SCHEMA_STRING, .max_len = 64, .help = "whose home directory is meant"},
    {"signature", SCHEMA_STRING, .max_len = 128, .help = "instead of a token"},
    {"signature_expiration", SCHEMA_STRING, .max_len = 32, .help = "in seconds since 1970"},
    {0},
};

/* A file that does not fit is no request that is too long. */
static void files_error(struct request *request, int status, struct error *err)
{
    e2b_control_error(request, status == 413 ? 507 : status, err);
}

/* clang-format off */
#define COMMON .tag = "e2b", .is_unlisted = true, .status = 200

#define CONTROL COMMON, .identify = e2b_identify_owner, .on_error = e2b_control_error
#define BODY    .body = anything, .reads_body = true, .load = e2b_load, .max_body = E2B_BODY_BYTES, \
                .takes_encodings = true

#define RPC     COMMON, BODY, .identify = e2b_identify_envd, .on_error = e2b_rpc_error
#define STREAM  COMMON, .body = anything, .reads_body = true, .load = e2b_load_envelope,            \
                .body_type = "application/connect+json", .max_body = E2B_BODY_BYTES,                \
                .takes_encodings = true, .identify = e2b_identify_envd,                             \
                .on_error = e2b_stream_error

#define FILES   COMMON, .query = file_fields, .identify = e2b_identify_files, .on_error = files_error
#define KERNEL  COMMON, .identify = e2b_identify_interpreter, .on_error = e2b_text_error

#define PORT(method)                                                                               \
    {method, "/e2b/sandboxes/{sandbox}/ports/{port...}", api_port_handle, COMMON,                  \
     .begin = e2b_port_begin, .max_body = UINT64_MAX / 2, .passes_query = true,                    \
     .takes_encodings = true, .identify = e2b_identify_port, .on_error = e2b_control_error,        \
     .summary = "a server that runs in the sandbox"}

#define NOT_OFFERED(method, path)                                                                  \
    {method, path, e2b_unsupported, CONTROL, BODY, .summary = "not offered"}

#define UNKNOWN(method)                                                                            \
    {method, "/e2b/{path...}", e2b_unknown, COMMON, .access = ROUTE_PUBLIC,                        \
     .on_error = e2b_control_error, .summary = "nothing"}
#define UNKNOWN_BODY(method)                                                                       \
    {method, "/e2b/{path...}", e2b_unknown, COMMON, .body = anything, .reads_body = true,          \
     .max_body = 64 * KIB, .access = ROUTE_PUBLIC, .on_error = e2b_control_error,                  \
     .summary = "nothing"}

const struct route e2b_routes[] = {
    {"POST", "/e2b/sandboxes", e2b_create, CONTROL, BODY, .summary = "make a sandbox"},
    {"POST", "/e2b/v2/sandboxes", e2b_create, CONTROL, BODY, .summary = "make a sandbox"},
    {"GET", "/e2b/sandboxes", e2b_list, CONTROL, .query = list_fields, .summary = "list them"},
    {"GET", "/e2b/v2/sandboxes", e2b_list, CONTROL, .query = list_fields, .summary = "list them"},
    {"GET", "/e2b/sandboxes/{sandbox}", e2b_show, CONTROL, .summary = "one sandbox"},
    {"DELETE", "/e2b/sandboxes/{sandbox}", e2b_kill, CONTROL, .summary = "end it"},
    {"POST", "/e2b/sandboxes/{sandbox}/connect", e2b_connect, CONTROL, BODY, .summary = "find it"},
    {"POST", "/e2b/v2/sandboxes/{sandbox}/connect", e2b_connect, CONTROL, BODY, .summary = "find it"},
    {"POST", "/e2b/sandboxes/{sandbox}/resume", e2b_connect, CONTROL, BODY, .summary = "find it"},
    {"POST", "/e2b/sandboxes/{sandbox}/pause", e2b_pause, CONTROL, BODY, .summary = "stop it"},
    {"POST", "/e2b/sandboxes/{sandbox}/fork", e2b_fork, CONTROL, BODY, .summary = "copies of it"},
    {"POST", "/e2b/sandboxes/{sandbox}/snapshots", e2b_make_snapshot, CONTROL, BODY, .summary = "keep its state"},
    {"GET", "/e2b/snapshots", e2b_list_snapshots, CONTROL, .query = snapshot_fields, .summary = "states that are kept"},
    {"DELETE", "/e2b/templates/{snapshot}", e2b_forget_snapshot, CONTROL, .summary = "forget one"},
    {"POST", "/e2b/sandboxes/{sandbox}/timeout", e2b_set_timeout, CONTROL, BODY, .summary = "move its end"},
    {"POST", "/e2b/sandboxes/{sandbox}/refreshes", e2b_refresh, CONTROL, BODY, .summary = "move its end"},
    {"GET", "/e2b/sandboxes/{sandbox}/metrics", e2b_show_metrics, CONTROL, .query = metrics_fields,
     .summary = "figures of its use"},
    PORT("GET"), PORT("POST"), PORT("PUT"), PORT("PATCH"), PORT("DELETE"), PORT("OPTIONS"),
    NOT_OFFERED("POST", "/e2b/sandboxes/{sandbox}/{action}"),
    NOT_OFFERED("PUT", "/e2b/sandboxes/{sandbox}/{action}"),
    NOT_OFFERED("GET", "/e2b/templates/{path...}"),
    NOT_OFFERED("POST", "/e2b/templates"),
    NOT_OFFERED("POST", "/e2b/v2/templates"),
    NOT_OFFERED("POST", "/e2b/v3/templates"),
    NOT_OFFERED("POST", "/e2b/templates/{path...}"),
    NOT_OFFERED("DELETE", "/e2b/templates/{path...}"),
    NOT_OFFERED("GET", "/e2b/volumes"),
    NOT_OFFERED("POST", "/e2b/volumes"),
    NOT_OFFERED("GET", "/e2b/secrets"),
    NOT_OFFERED("POST", "/e2b/secrets"),

    {"GET", "/e2b/health", e2b_show_health, COMMON, .access = ROUTE_PUBLIC, .on_error = e2b_control_error,
     .summary = "whether a sandbox is there"},
    {"POST", "/e2b/process.Process/Start", e2b_process_start, STREAM, .summary = "start a program"},
    {"POST", "/e2b/process.Process/Connect", e2b_process_connect, STREAM, .summary = "follow a program"},
    {"POST", "/e2b/process.Process/List", e2b_process_list, RPC, .summary = "programs that run"},
    {"POST", "/e2b/process.Process/SendInput", e2b_process_input, RPC, .summary = "its input"},
    {"POST", "/e2b/process.Process/CloseStdin", e2b_process_close_input, RPC, .summary = "the end of that"},
    {"POST", "/e2b/process.Process/SendSignal", e2b_process_signal, RPC, .summary = "a signal"},
    {"POST", "/e2b/process.Process/Update", e2b_process_update, RPC, .summary = "the size of its terminal"},
    {"POST", "/e2b/process.Process/StreamInput", e2b_rpc_unsupported, STREAM, .summary = "not offered"},
    {"POST", "/e2b/filesystem.Filesystem/Stat", e2b_stat, RPC, .summary = "an entry"},
    {"POST", "/e2b/filesystem.Filesystem/ListDir", e2b_list_dir, RPC, .summary = "entries"},
    {"POST", "/e2b/filesystem.Filesystem/MakeDir", e2b_make_dir, RPC, .summary = "a new directory"},
    {"POST", "/e2b/filesystem.Filesystem/Move", e2b_move, RPC, .summary = "another name"},
    {"POST", "/e2b/filesystem.Filesystem/Remove", e2b_remove, RPC, .summary = "remove an entry"},
    {"POST", "/e2b/filesystem.Filesystem/WatchDir", e2b_watch_dir, STREAM, .summary = "changes in a directory"},
    {"POST", "/e2b/filesystem.Filesystem/CreateWatcher", e2b_make_watcher, RPC, .summary = "the same, to be asked for"},
    {"POST", "/e2b/filesystem.Filesystem/GetWatcherEvents", e2b_watcher_events, RPC, .summary = "changes since the last request"},
    {"POST", "/e2b/filesystem.Filesystem/RemoveWatcher", e2b_remove_watcher, RPC, .summary = "look no longer"},
    {"POST", "/e2b/filesystem.Filesystem/{method}", e2b_rpc_unsupported, RPC, .summary = "not offered"},
    {"GET", "/e2b/files", e2b_file_get, FILES, .type = "application/octet-stream", .has_ranges = true,
     .summary = "the bytes of a file"},
    {"POST", "/e2b/files", e2b_file_post, FILES, .begin = e2b_file_begin, .max_body = UPLOAD_BYTES,
     .takes_encodings = true, .summary = "write files"},
    /* Signed addresses lose the prefix of the path. */
    {"GET", "/files", e2b_file_get, FILES, .type = "application/octet-stream", .has_ranges = true,
     .summary = "the bytes of a file"},
    {"POST", "/files", e2b_file_post, FILES, .begin = e2b_file_begin, .max_body = UPLOAD_BYTES,
     .takes_encodings = true, .summary = "write files"},
    {"POST", "/e2b/execute", e2b_execute, KERNEL, BODY, .summary = "run a cell"},
    {"GET", "/e2b/contexts", e2b_list_contexts, KERNEL, .summary = "kernels"},
    {"POST", "/e2b/contexts", e2b_make_context, KERNEL, BODY, .summary = "one more kernel"},
    {"POST", "/e2b/contexts/{context}/restart", e2b_restart_context, KERNEL, BODY, .summary = "a fresh kernel"},
    {"DELETE", "/e2b/contexts/{context}", e2b_remove_context, KERNEL, .summary = "end a kernel"},
    UNKNOWN("GET"), UNKNOWN("DELETE"), UNKNOWN_BODY("POST"), UNKNOWN_BODY("PUT"), UNKNOWN_BODY("PATCH"),
    {0},
};
/* clang-format on */
