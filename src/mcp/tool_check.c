/* Checking code without running it. */
#include <string.h>

#include "base/language.h"
#include "mcp/tools.h"

static json_t *answer(struct mcp_call *call, const struct run *run, const char *note)
{
    static const char good[] = "no problems found\n";

    return run->result.status == RUN_SUCCESS ? mcp_text_result(good, strlen(good), false)
                                             : mcp_result(call, run, note);
}

static void check_code(struct mcp_call *call)
{
    const json_t *code = json_object_get(call->arguments, "code");
    const struct mcp_program program = {
        .code = json_string_value(code),
        .len = json_string_length(code),
        .language = language_of_json(call->arguments),
        .profile = json_string_value(json_object_get(call->arguments, "profile")),
        .is_check = true,
        .answer = answer,
    };

    mcp_run(call, &program);
}

/* clang-format off */
static const struct schema_field check_fields[] = {
    {"code", SCHEMA_STRING, .is_required = true, .max_len = LIMIT_CODE_BYTES,
     .help = "source", .example = "\"import numpy\""},
    API_LANGUAGE_FIELD,
    {"profile", SCHEMA_STRING, .max_len = 64, .example = "\"strict\"",
     .help = "whose rules hold; default: that of the settings"},
    {0},
};

const struct mcp_tool mcp_tool_check = {
    .name = "check_code",
    .title = "Check code",
    .description = "Report refused code, syntax errors and missing modules; run nothing.",
    .input = check_fields,
    .hints = MCP_READ_ONLY,
    .call = check_code,
};
/* clang-format on */
