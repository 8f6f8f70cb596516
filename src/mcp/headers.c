/* Headers that repeat what the body says, for those on the way who do not read bodies. They have to
 * agree: who decides by one must not be told another story by the other. */
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "mcp/internal.h"

#define ENCODED_BEGIN "=?base64?"
#define ENCODED_END   "?="
#define VALUE_MAX     (8 * KIB)

/* Bytes that a header cannot have come in base64. */
static bool is_encoded(struct span value)
{
    size_t begin = strlen(ENCODED_BEGIN), end = strlen(ENCODED_END);

    return value.len >= begin + end && memcmp(value.data, ENCODED_BEGIN, begin) == 0 &&
           memcmp(value.data + value.len - end, ENCODED_END, end) == 0;
}

static bool says(struct span value, const char *text, size_t len)
{
    cleanup(buf_done) struct buf plain = BUF_OF(VALUE_MAX);
    size_t begin = strlen(ENCODED_BEGIN), end = strlen(ENCODED_END);

    if (!value.data)
        return false;
    if (!is_encoded(value))
        return value.len == len && memcmp(value.data, text, len) == 0;
    if (base64_decode(&plain, value.data + begin, value.len - begin - end, NULL) < 0)
        return false;
    return plain.len == len && memcmp(buf_str(&plain), text, len) == 0;
}

static bool says_text(const struct mcp_request *request, const char *name, const char *text)
{
    return says(request->exchange->header(request->exchange, name), text, strlen(text));
}

const char *mcp_headers_check(const struct mcp_request *request)
{
    const char *subject = request->method->subject;

    if (!says_text(request, "mcp-protocol-version", MCP_MODERN_VERSION))
        return "MCP-Protocol-Version differs from `_meta`";
    if (!says_text(request, "mcp-method", request->method->name))
        return "Mcp-Method differs from `method`";
    if (subject && !says_text(request, "mcp-name",
                              json_string_value(json_object_get(request->params, subject))))
        return "Mcp-Name differs from the body";
    return NULL;
}

/* A value as a header has it. */
static int add_plain(const json_t *value, struct buf *out)
{
    if (json_is_string(value))
        return buf_add(out, json_string_value(value), json_string_length(value), NULL);
    return json_text_dump(value, JSON_TEXT_COMPACT, out, NULL);
}

static const char *check_param(const struct mcp_request *request, const char *header,
                               const json_t *value)
{
    cleanup(buf_done) struct buf plain = BUF_OF(VALUE_MAX);
    char name[128];
    struct span given;

    (void)snprintf(name, sizeof(name), "mcp-param-%s", header);
    for (char *c = name; *c; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c + 'a' - 'A');
    given = request->exchange->header(request->exchange, name);
    if (!value || json_is_null(value))
        return given.data ? "a header Mcp-Param-* has no argument in the body" : NULL;
    if (!given.data)
        return "a header Mcp-Param-* is missing";
    if (add_plain(value, &plain) < 0 || !says(given, buf_str(&plain), plain.len))
        return "a header Mcp-Param-* differs from its argument";
    return NULL;
}

const char *mcp_headers_check_tool(const struct mcp_request *request, const struct mcp_tool *tool,
                                   const json_t *arguments)
{
    static const struct json_text_limits limits = {.bytes = MIB, .depth = 64};
    const char *mistake = NULL, *key;
    json_t *schema = NULL, *property;

    /* Schemas from tables have no such mark. */
    if (!tool->input_json ||
        json_text_load(tool->input_json, strlen(tool->input_json), &limits, &schema, NULL) < 0)
        return NULL;
    json_object_foreach(json_object_get(schema, "properties"), key, property)
    {
        const char *header = json_string_value(json_object_get(property, "x-mcp-header"));

        if (header && !mistake)
            mistake = check_param(request, header, json_object_get(arguments, key));
    }
    json_decref(schema);
    return mistake;
}
