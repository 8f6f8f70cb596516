/* Hints for a model (base/hint.h): it has the arguments of the tool that it called. */
#include "base/hint.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "mcp/internal.h"

#define HINT_MAX (16 * KIB)

static bool has_field(const void *user, const char *name, size_t len)
{
    const struct mcp_call *call = user;

    return mcp_tool_takes(call->tool, name, len);
}

int mcp_add_hint(const struct mcp_call *call, const char *hint, struct buf *out)
{
    const struct hint_view view = {HINT_FOR_MODEL, has_field, call};

    return hint_add(&view, hint, out);
}

json_t *mcp_hint_json(const struct mcp_call *call, const char *hint)
{
    cleanup(buf_done) struct buf text = BUF_OF(HINT_MAX);

    (void)mcp_add_hint(call, hint, &text);
    return json_text_string(buf_str(&text), text.len);
}
