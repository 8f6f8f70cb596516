/* read_file, write_file and list_files in granted directories (api/granted_files.h). */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/granted_files.h"
#include "base/cleanup.h"
#include "base/stream.h"
#include "engine/session_files.h"
#include "mcp/tools.h"

#define LIST_MAX   500
#define CODE_BYTES (2 * LIMIT_CODE_BYTES)

static int write_reader(const struct mcp_call *call, const char *path, struct buf *out,
                        struct error *err)
{
    struct mcp_part part;

    mcp_part_of(call, &part);
    return part.line ? granted_lines_code(path, part.line, part.lines, part.limit, out, err)
                     : granted_page_code(path, part.offset, part.limit, out, err);
}

/* The output of the reader's program is a line with the file's size, the end of the page, its first
 * line and the one after it; and the page. */
static json_t *page_result(struct mcp_call *call, const struct run *run, const char *note)
{
    cleanup(buf_done) struct buf text = BUF_OF(LIMIT_OUTPUT_BYTES_MAX + MIB);
    struct mcp_page page = {0};
    int head = 0;

    if (run->result.status != RUN_SUCCESS || run_stream_render(&run->result.out, &text, NULL) < 0 ||
        sscanf(buf_str(&text), "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 "%n", &page.size,
               &page.end, &page.line, &page.end_line, &head) != 4 ||
        text.data[head] != '\n')
        return mcp_result(call, run, note);
    buf_consume(&text, (size_t)head + 1);
    page.has_more = page.end < page.size;
    return mcp_page_result(call, &text, &page);
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

/* In /workspace of a session that is elsewhere, whose files are not at hand. NULL: it is not there.
 */
static char *away_path(const struct session *session, const char *given)
{
    char path[PATH_MAX], *whole = NULL;

    if (!session_elsewhere(session) ||
        files_path_check(given ? given : "", given ? strlen(given) : 0, path, NULL) < 0 ||
        asprintf(&whole, "/workspace%s%s", *path ? "/" : "", path) < 0)
        return NULL;
    return whole;
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
    struct mcp_program program = {
        .language = RUN_PYTHON,
        .session = session,
        .needs_all = work == MCP_FILE_READ,
        .answer = work == MCP_FILE_READ ? page_result : mcp_result,
    };
    cleanup(buf_done) struct buf code = BUF_OF(CODE_BYTES);
    cleanup_free char *path = NULL;
    struct session_info info;
    struct error err = {0};

    session_info(session, &info);
    path = granted_path(info.terms, given);
    if (!path)
        path = away_path(session, given);
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
