/* A message of another MCP server: whatever it is taken for, texts come out without hidden
 * characters, tools with plain names, and results within their shape. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "upstream/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_text(const json_t *text, size_t max)
{
    const char *bytes = json_string_value(text);

    if (!text)
        return;
    if (!bytes || json_string_length(text) > max || strlen(bytes) != json_string_length(text))
        abort();
    for (; *bytes; bytes++)
        if ((unsigned char)*bytes < 0x20 && *bytes != '\n' && *bytes != '\t')
            abort();
}

static void check_tools(const json_t *result)
{
    json_t *tools = json_array();
    const json_t *tool;
    size_t i;

    (void)upstream_tools_next(result);
    if (upstream_tools_add(tools, result, NULL) >= 0) {
        json_array_foreach(tools, i, tool)
        {
            const char *name = json_string_value(json_object_get(tool, "name"));
            const json_t *schema = json_object_get(tool, "input");

            if (!name || !*name || strlen(name) > 88 || upstream_tools_find(tools, name) != tool ||
                (schema && !json_is_object(schema)))
                abort();
            check_text(json_object_get(tool, "description"), LIMIT_UPSTREAM_DESCRIPTION);
            check_text(json_object_get(tool, "title"), LIMIT_UPSTREAM_DESCRIPTION);
        }
    }
    json_decref(tools);
}

static void check_result(const json_t *result)
{
    cleanup_error struct error err = {0};
    json_t *clean = upstream_result(result, &err);

    if (!clean == (err.code == E_NONE))
        abort();
    if (clean && json_object_get(clean, "content") &&
        !json_is_array(json_object_get(clean, "content")))
        abort();
    json_decref(clean);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    cleanup_error struct error err = {0};
    cleanup_error struct error mistake = {0};
    json_t *message;
    struct upstream_message m;

    (void)upstream_message_guess((const char *)data, len);
    message = upstream_message_load((const char *)data, len, &err);
    if (!message) {
        if (err.code == E_NONE)
            abort();
        return 0;
    }
    m = upstream_message_read(message, &mistake);
    if ((m.kind == UPSTREAM_ERROR) != (mistake.code != E_NONE))
        abort();
    if (m.kind == UPSTREAM_RESULT) {
        check_tools(m.result);
        check_result(m.result);
    }
    json_decref(message);
    return 0;
}
