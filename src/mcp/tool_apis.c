/* Lists what programs can import: a model asks for what it needs, and no description carries it.
 */
#include <string.h>

#include "base/cleanup.h"
#include "calls/apis.h"
#include "engine/place.h"
#include "mcp/tools.h"

#define HELPERS "helpers: " /* before them, as place_add_helpers() writes it */

/* Helpers are the operator's and not in the library's list; they are named where a list of names or
 * signatures of everything is asked for. */
static void list_apis(struct mcp_call *call)
{
    const struct api *api = mcp_host_of(call)->api;
    const struct stored stored = {api->store, mcp_store_owner(call), UINT32_MAX};
    struct buf helpers;
    struct error err = {0};
    json_t *value = NULL;

    buf_init(&helpers, 64 * KIB);
    if (apis_list(&stored, call->arguments, &value, &err) < 0) {
        buf_done(&helpers);
        mcp_answer_error(call, &err);
        return;
    }
    if (!json_object_get(call->arguments, "name") &&
        place_add_helpers(api->config, &helpers) == 0 && helpers.len > strlen(HELPERS))
        (void)json_object_set_new(
            value, "helpers",
            json_stringn(helpers.data + strlen(HELPERS), helpers.len - strlen(HELPERS) - 1));
    buf_done(&helpers);
    mcp_answer_object(call, value);
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
