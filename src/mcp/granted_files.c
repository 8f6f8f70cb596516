/* read_file, write_file and list_files in granted directories (api/granted_files.h). */
#include <stdlib.h>
#include <string.h>

#include "api/granted_files.h"
#include "base/cleanup.h"
#include "mcp/tools.h"

#define READ_DEFAULT 32768
#define LIST_MAX     500
#define CODE_BYTES   (2 * LIMIT_CODE_BYTES)

static int write_reader(const struct mcp_call *call, const char *path, struct buf *out,
                        struct error *err)
{
    json_int_t offset = json_integer_value(json_object_get(call->arguments, "offset"));
    const json_t *limit = json_object_get(call->arguments, "limit");

    return granted_read_code(path, (uint64_t)offset,
                             limit ? (uint64_t)json_integer_value(limit) : READ_DEFAULT, out, err);
}

static int write_writer(const struct mcp_call *call, const char *path, struct buf *out,
                        struct error *err)
{
    const char *encoding = json_string_value(json_object_get(call->arguments, "encoding"));

    return granted_write_code(path, json_object_get(call->arguments, "content"),
                              encoding && strcmp(encoding, "base64") == 0, out, err);
}

static int write_lister(const struct mcp_call *call, const char *path, struct buf *out,
                        struct error *err)
{
    (void)call;
    return granted_list_code(path, LIST_MAX, false, out, err);
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
