/* Lists what programs can import: a model asks for what it needs, and no description carries it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "calls/apis.h"
#include "mcp/tools.h"

struct apis_place mcp_apis_place(const struct mcp_call *call)
{
    const struct api *api = mcp_host_of(call)->api;

    return (struct apis_place){.stored = {api->store, mcp_store_owner(call), UINT32_MAX},
                               .outside = pool_outside(api->pool)};
}

/* --- a server that has to be asked first --- */

struct asking {
    struct mcp_call *call;
    struct upstream_call *under_way;
    void (*then)(struct mcp_call *call);
};

static void on_cancel(struct mcp_call *call)
{
    struct asking *asking = call->user;

    upstream_call_cancel(asking->under_way);
    free(asking);
}

static void on_tools(void *user, const json_t *value, const struct error *cause)
{
    struct asking *asking = user;
    struct mcp_call *call = asking->call;
    void (*then)(struct mcp_call * call) = asking->then;
    struct error err = {0};

    (void)value; /* the list is known now */
    free(asking);
    call->on_cancel = NULL;
    call->user = NULL;
    if (!cause) {
        then(call);
        return;
    }
    error_copy(&err, cause);
    mcp_call_fail(call, &err);
}

void mcp_apis_with(struct mcp_call *call, const char *name, void (*then)(struct mcp_call *call))
{
    const struct apis_place place = mcp_apis_place(call);
    json_t *arguments = json_pack("{s:s*}", "name", name);
    int server = apis_server(&place, arguments);
    struct asking *asking = server < 0 ? NULL : calloc(1, sizeof(*asking));
    struct error err = {0};

    json_decref(arguments);
    if (server < 0) {
        then(call);
        return;
    }
    if (!asking) {
        error_memory(&err);
        mcp_call_fail(call, &err);
        return;
    }
    *asking = (struct asking){.call = call, .then = then};
    call->user = asking;
    call->on_cancel = on_cancel;
    asking->under_way = apis_ask(&place, server, on_tools, asking, &err);
    if (asking->under_way)
        return;
    free(asking);
    call->on_cancel = NULL;
    call->user = NULL;
    mcp_call_fail(call, &err);
}

/* --- the tool --- */

/* A server's own words are masked like any output. */
static void answer(struct mcp_call *call)
{
    const struct apis_place place = mcp_apis_place(call);
    struct error err = {0};
    json_t *value = NULL;

    if (apis_list(&place, call->arguments, &value, &err) < 0)
        mcp_answer_error(call, &err);
    else
        mcp_answer_object(call, value);
}

static void list_apis(struct mcp_call *call)
{
    mcp_apis_with(call, json_string_value(json_object_get(call->arguments, "name")), answer);
}

/* clang-format off */
static const struct schema_field fields[] = {
    {"detail", SCHEMA_STRING, .choices = "names,signatures,full", .example = "\"names\"",
     .help = "how much; full takes a name"},
    {"name", SCHEMA_STRING, .max_len = 256, .example = "\"api.filesystem\"",
     .help = "module or function"},
    {0},
};

const struct mcp_tool mcp_tool_apis = {
    .name = "list_available_apis",
    .title = "What code can import",
    .description = "Functions that code can import, to work on files without reading them.",
    .input = fields,
    .hints = MCP_READ_ONLY,
    .call = list_apis,
};
/* clang-format on */
