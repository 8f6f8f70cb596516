/* Lists what programs can import: a model asks for what it needs, and no description carries it.
 */
#include "calls/apis.h"
#include "mcp/tools.h"

static void list_apis(struct mcp_call *call)
{
    mcp_answer_stored(call, apis_list);
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
