/* read_file, write_file and list_files in granted directories.
 *
 * Programs in the session's own sandbox do the work, so that the same rules hold as for any code:
 * the rights of the directory's owner, the write broker with its protected names, and the journal
 * for undo. Belljar itself opens nothing there.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/paths.h"
#include "mcp/tools.h"

#define READ_DEFAULT 32768
#define LIST_MAX     500
#define CODE_BYTES   (2 * LIMIT_CODE_BYTES)

/* Some part of it is "..": nobody who names a file in a directory needs that. */
static bool climbs(const char *path)
{
    for (const char *at = path; at; at = strchr(at, '/')) {
        at += strspn(at, "/");
        if (strncmp(at, "..", 2) == 0 && (!at[2] || at[2] == '/'))
            return true;
    }
    return false;
}

/* The file as code finds it, or NULL: it is in /workspace, or in no granted directory. */
static char *granted_path(const struct run_terms *terms, const char *given)
{
    const char *start = terms->workdir;
    char *path = NULL;

    if (!given || !*given)
        return start ? strdup(start) : NULL;
    if (climbs(given))
        return NULL;
    if (given[0] != '/')
        return start && asprintf(&path, "%s/%s", start, given) >= 0 ? path : NULL;
    for (size_t i = 0; i < terms->n_grants; i++)
        if (paths_below(given, terms->grants[i].path))
            return strdup(given);
    return NULL;
}

/* A string of JSON is one of Python, too, as long as its characters are not escaped in halves. */
static int add_literal(const json_t *value, struct buf *out, struct error *err)
{
    cleanup_free char *text = json_dumps(value, JSON_ENCODE_ANY);

    return text ? buf_add_str(out, text, err) : error_memory(err);
}

static int add_path(const char *path, struct buf *out, struct error *err)
{
    json_t *value = json_string(path);
    int r = value ? add_literal(value, out, err)
                  : error_set(err, E_INVALID, "`path`: expected text in UTF-8");

    json_decref(value);
    return r;
}

static int write_reader(const struct mcp_call *call, const char *path, struct buf *out,
                        struct error *err)
{
    json_int_t offset = json_integer_value(json_object_get(call->arguments, "offset"));
    const json_t *limit = json_object_get(call->arguments, "limit");

    if (buf_add_str(out, "import api.filesystem\nprint(api.filesystem.read_file(", err) < 0 ||
        add_path(path, out, err) < 0)
        return -1;
    return buf_printf(out, err, ")[%lld:][:%lld], end='')\n", (long long)offset,
                      (long long)(limit ? json_integer_value(limit) : READ_DEFAULT));
}

static int write_writer(const struct mcp_call *call, const char *path, struct buf *out,
                        struct error *err)
{
    const char *encoding = json_string_value(json_object_get(call->arguments, "encoding"));
    bool is_base64 = encoding && strcmp(encoding, "base64") == 0;

    if (buf_add_str(out,
                    is_base64 ? "import base64, pathlib\npathlib.Path("
                              : "import api.filesystem\n_ = api.filesystem.write_file(",
                    err) < 0 ||
        add_path(path, out, err) < 0 ||
        buf_add_str(out, is_base64 ? ").write_bytes(base64.b64decode(" : ", ", err) < 0 ||
        add_literal(json_object_get(call->arguments, "content"), out, err) < 0 ||
        buf_add_str(out, is_base64 ? "))\nprint('wrote', " : ")\nprint('wrote', ", err) < 0 ||
        add_path(path, out, err) < 0)
        return -1;
    return buf_add_str(out, ")\n", err);
}

static int write_lister(const struct mcp_call *call, const char *path, struct buf *out,
                        struct error *err)
{
    (void)call;
    if (buf_add_str(out, "import pathlib\nfor _ in sorted(pathlib.Path(", err) < 0 ||
        add_path(path, out, err) < 0)
        return -1;
    return buf_printf(
        out, err,
        ").iterdir())[:%d]:\n"
        "    print(_.name + ('/' if _.is_dir() else f' ({_.lstat().st_size} bytes)'))\n",
        LIST_MAX);
}

bool mcp_granted_file(struct mcp_call *call, struct session *session, enum mcp_file_work work)
{
    static int (*const writers[])(const struct mcp_call *, const char *, struct buf *,
                                  struct error *) = {
        [MCP_FILE_READ] = write_reader,
        [MCP_FILE_WRITE] = write_writer,
        [MCP_FILE_LIST] = write_lister,
    };
    const char *given = json_string_value(json_object_get(call->arguments, "path"));
    struct mcp_program program = {.language = RUN_PYTHON, .session = session, .answer = mcp_result};
    cleanup(buf_done) struct buf code = BUF_OF(CODE_BYTES);
    cleanup_free char *path = NULL;
    struct session_info info;
    struct error err = {0};

    session_info(session, &info);
    path = granted_path(info.terms, given);
    if (!path)
        return false;
    if (writers[work](call, path, &code, &err) < 0) {
        mcp_call_fail(call, &err);
        return true;
    }
    program.code = buf_str(&code);
    program.len = code.len;
    mcp_run(call, &program);
    return true;
}
