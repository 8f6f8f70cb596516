/* Resources: files of sessions and whole outputs, under belljar://. */
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "mcp/tools.h"

#define LISTED_MAX 1000

/* Bytes of an output in one resource; the tool read_output returns pages. */
#define OUTPUT_MAX MIB

#define SESSIONS "belljar://sessions/"
#define RUNS     "belljar://runs/"
#define FILES    "/files/"

static void answer_text(struct mcp_call *call, const char *mime, const char *text, size_t len)
{
    mcp_call_answer(call, json_pack("{s:[{s:s, s:s, s:o}]}", "contents", "uri", call->uri,
                                    "mimeType", mime, "text", json_text_string(text, len)));
}

/* --- the list of sessions --- */

static void read_sessions(struct mcp_call *call)
{
    struct sessions *table = mcp_host_of(call)->api->sessions;
    cleanup(buf_done) struct buf text = BUF_OF(16 * MIB);
    json_t *list = json_array();

    for (struct session *s = sessions_next(table, NULL); s; s = sessions_next(table, s)) {
        struct session_info info;

        session_info(s, &info);
        if (strcmp(info.owner, call->owner) == 0)
            (void)json_array_append_new(list, api_session_json(s));
    }
    (void)json_text_dump(list, JSON_TEXT_COMPACT, &text, NULL);
    json_decref(list);
    answer_text(call, "application/json", buf_str(&text), text.len);
}

static const struct mcp_resource sessions_resource = {
    .uri = "belljar://sessions",
    .name = "sessions",
    .title = "Sessions",
    .description = "live sessions of this client",
    .mime = "application/json",
    .read = read_sessions,
};

/* --- files --- */

/* The parts of belljar://sessions/ID/files/PATH; false: it is none. */
static bool split(const char *uri, char id[64], char path[PATH_MAX])
{
    const char *rest = uri + strlen(SESSIONS);
    const char *slash = strchr(rest, '/');
    size_t len = slash ? (size_t)(slash - rest) : 0;

    if (!len || len >= 64 || strncmp(slash, FILES, strlen(FILES)) != 0)
        return false;
    memcpy(id, rest, len);
    id[len] = '\0';
    slash += strlen(FILES);
    if (!*slash || strlen(slash) >= PATH_MAX)
        return false;
    len = schema_decode((struct span){slash, strlen(slash)}, false, path);
    return strlen(path) == len;
}

static void read_file_then(struct mcp_call *call, const char *session_id, const struct files *files)
{
    struct error err = {0};
    char id[64], given[PATH_MAX], path[PATH_MAX];
    json_t *contents = NULL;

    (void)session_id;
    if (split(call->uri, id, given) && files_path_check(given, strlen(given), path, &err) == 0)
        contents = mcp_file_contents(mcp_host_of(call), files, path, call->uri, &err);
    if (contents)
        mcp_call_answer(call, json_pack("{s:[o]}", "contents", contents));
    else
        mcp_call_fail(call, &err);
}

static void read_file(struct mcp_call *call)
{
    char id[64], path[PATH_MAX];
    struct session *session = NULL;

    if (split(call->uri, id, path))
        session = sessions_find(mcp_host_of(call)->api->sessions, call->owner, id, NULL);
    if (session)
        mcp_with_files(call, session, read_file_then);
    else
        mcp_call_not_found(call);
}

static void complete_session(struct mcp_call *call, const char *value, json_t *values)
{
    struct sessions *table = mcp_host_of(call)->api->sessions;

    for (struct session *s = sessions_next(table, NULL); s; s = sessions_next(table, s)) {
        struct session_info info;

        session_info(s, &info);
        if (strcmp(info.owner, call->owner) == 0 && strncmp(info.id, value, strlen(value)) == 0)
            (void)json_array_append_new(values, json_string(info.id));
    }
}

/* Calls `fn` for each regular file of the session, as far as they are listed. */
static void each_file(struct mcp_call *call, struct session *session,
                      void (*fn)(struct mcp_call *call, const char *session_id,
                                 const struct files_entry *entry, void *arg),
                      void *arg)
{
    static const struct files_page page = {.limit = LISTED_MAX};
    cleanup(files_list_done) struct files_list list = {0};
    const struct files *files = session ? session_files(session) : NULL;
    struct session_info info;

    if (!files || files_list(files, "", &page, &list, NULL) < 0)
        return;
    session_info(session, &info);
    for (size_t i = 0; i < list.count; i++)
        if (list.entries[i].kind == FILES_REGULAR && !mcp_is_hidden(list.entries[i].path))
            fn(call, info.id, &list.entries[i], arg);
}

/* A name that is masked is left out: there is no way to say it. */
static json_t *name_json(struct mcp_call *call, const char *path)
{
    cleanup(buf_done) struct buf name = BUF_OF(MCP_URI_MAX);

    if (mcp_add_name(mcp_host_of(call), path, &name) < 0 || strcmp(buf_str(&name), path) != 0)
        return NULL;
    return json_text_string(path, strlen(path));
}

struct wanted {
    const char *value;
    json_t *values;
};

static void add_path(struct mcp_call *call, const char *session_id, const struct files_entry *entry,
                     void *arg)
{
    const struct wanted *wanted = arg;
    json_t *name;

    (void)session_id;
    if (strncmp(entry->path, wanted->value, strlen(wanted->value)) == 0 &&
        (name = name_json(call, entry->path)))
        (void)json_array_append_new(wanted->values, name);
}

static void complete_file(struct mcp_call *call, const char *variable, const char *value,
                          json_t *values)
{
    const char *id = json_string_value(json_object_get(call->arguments, "session"));
    struct wanted wanted = {value, values};

    if (strcmp(variable, "session") == 0)
        complete_session(call, value, values);
    else if (strcmp(variable, "path") == 0 && id)
        each_file(call, sessions_find(mcp_host_of(call)->api->sessions, call->owner, id, NULL),
                  add_path, &wanted);
}

static const struct mcp_resource file_resource = {
    .uri = SESSIONS "{session}" FILES "{+path}",
    .name = "file",
    .title = "File of a session",
    .description = "a file in /workspace of a session",
    .read = read_file,
    .complete = complete_file,
};

/* --- outputs --- */

static void read_output(struct mcp_call *call)
{
    const char *id = call->uri + strlen(RUNS), *slash = strchr(id, '/');
    char name[64] = "";
    struct error err = {0};
    struct job *job = NULL;
    json_t *query, *page = NULL;
    bool is_stream = slash && (strcmp(slash, "/stdout") == 0 || strcmp(slash, "/stderr") == 0);

    if (is_stream && (size_t)(slash - id) < sizeof(name)) {
        memcpy(name, id, (size_t)(slash - id));
        job = jobs_find(mcp_host_of(call)->api->jobs, call->owner, name, &err);
    }
    if (job) {
        query = json_pack("{s:s, s:I}", "stream", slash + 1, "limit", (json_int_t)OUTPUT_MAX);
        page = api_output_json(job, query, &err);
        json_decref(query);
    }
    error_done(&err);
    if (!page) {
        mcp_call_not_found(call);
        return;
    }
    answer_text(call, "text/plain", json_string_value(json_object_get(page, "text")),
                json_string_length(json_object_get(page, "text")));
    json_decref(page);
}

static const struct mcp_resource output_resource = {
    .uri = RUNS "{run}/{stream}",
    .name = "output",
    .title = "Whole output of a run",
    .description = "stdout or stderr of a run whose result was cut; its beginning, up to 1 MB",
    .mime = "text/plain",
    .read = read_output,
};

/* --- the list --- */

static void add_resource(struct mcp_call *call, const char *session_id,
                         const struct files_entry *entry, void *arg)
{
    cleanup(buf_done) struct buf uri = BUF_OF(MCP_URI_MAX);
    json_t *name = name_json(call, entry->path);

    if (name && mcp_file_uri(session_id, entry->path, &uri, NULL) == 0)
        (void)json_array_append_new(arg, json_pack("{s:s, s:O, s:I}", "uri", buf_str(&uri), "name",
                                                   name, "size", (json_int_t)entry->size));
    json_decref(name);
}

void mcp_resources_list(struct mcp_call *call, json_t *list)
{
    struct sessions *table = mcp_host_of(call)->api->sessions;

    for (struct session *s = sessions_next(table, NULL); s && json_array_size(list) < LISTED_MAX;
         s = sessions_next(table, s)) {
        struct session_info info;

        session_info(s, &info);
        if (strcmp(info.owner, call->owner) == 0)
            each_file(call, s, add_resource, list);
    }
}

const struct mcp_resource *const mcp_resources[] = {&sessions_resource, &file_resource,
                                                    &output_resource, NULL};
