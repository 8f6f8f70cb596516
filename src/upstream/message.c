#include "upstream/message.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/quote.h"
#include "base/utf8.h"

/* With "servers.NAME." before it, it is the name of a call. */
#define NAME_MAX_BYTES    88
#define MESSAGE_MAX_BYTES 500 /* of an error's words */
#define TITLE_MAX_BYTES   200
#define GUESS_BYTES       ((size_t)512)

/* --- messages --- */

json_t *upstream_message_load(const char *text, size_t len, struct error *err)
{
    const struct json_text_limits limits = {
        .bytes = LIMIT_UPSTREAM_MESSAGE, .depth = LIMIT_UPSTREAM_DEPTH, .allows_nul = true};
    json_t *message = NULL;

    return json_text_load(text, len, &limits, &message, err) < 0 ? NULL : message;
}

static void read_error(const json_t *error, struct upstream_message *m, struct error *err)
{
    const json_t *text = json_object_get(error, "message");
    cleanup_free char *words = quote_words(
        (struct span){json_string_value(text), json_string_length(text)}, MESSAGE_MAX_BYTES);
    json_int_t code = json_integer_value(json_object_get(error, "code"));

    m->kind = UPSTREAM_ERROR;
    m->code = code > -40000 && code < 40000 ? (int)code : 0;
    (void)error_set(err, E_PROTOCOL, "the server says: %s (%d)", words ? words : "\"\"", m->code);
}

struct upstream_message upstream_message_read(const json_t *message, struct error *err)
{
    const json_t *id = json_object_get(message, "id");
    const json_t *method = json_object_get(message, "method");
    const json_t *result = json_object_get(message, "result");
    const json_t *error = json_object_get(message, "error");
    struct upstream_message m = {.kind = UPSTREAM_JUNK};

    if (!json_is_object(message))
        return m;
    if (json_is_string(method)) {
        m.kind = id ? UPSTREAM_REQUEST : UPSTREAM_NOTICE;
        m.method = json_string_value(method);
        m.asked = id;
        return m;
    }
    if (!json_is_integer(id) || json_integer_value(id) <= 0)
        return m;
    m.id = (uint64_t)json_integer_value(id);
    if (json_is_object(error) && !result) {
        read_error(error, &m, err);
    } else if (json_is_object(result) && !error) {
        m.kind = UPSTREAM_RESULT;
        m.result = result;
    } else {
        m.kind = UPSTREAM_ERROR;
        (void)error_set(err, E_PROTOCOL, "the server's answer has neither a result nor an error");
    }
    return m;
}

/* The last one: members of a result come before, where an id of the message follows them. */
static uint64_t guess_in(const char *text, size_t len, bool is_last)
{
    static const char key[] = "\"id\":";
    uint64_t found = 0;

    for (size_t i = 0; i + sizeof(key) - 1 < len; i++) {
        uint64_t id = 0;
        size_t at = i + sizeof(key) - 1;

        if (memcmp(text + i, key, sizeof(key) - 1) != 0)
            continue;
        while (at < len && text[at] == ' ')
            at++;
        while (at < len && isdigit((unsigned char)text[at]) && id < UINT32_MAX)
            id = id * 10 + (uint64_t)(text[at++] - '0');
        if (id)
            found = id;
        if (found && !is_last)
            break;
    }
    return found;
}

uint64_t upstream_message_guess(const char *text, size_t len)
{
    size_t piece = len < GUESS_BYTES ? len : GUESS_BYTES;
    uint64_t id = guess_in(text + len - piece, piece, true);

    return id ? id : guess_in(text, piece, false);
}

/* --- texts --- */

static bool is_hidden(uint32_t c)
{
    if (c < 0x20)
        return c != '\n' && c != '\t';
    return (c >= 0x7f && c < 0xa0) || c == 0xad || (c >= 0x200b && c <= 0x200f) ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
           (c >= 0xfe00 && c <= 0xfe0f) || (c >= 0xfff9 && c <= 0xfffb) ||
           (c >= 0xe0000 && c <= 0xe0fff);
}

json_t *upstream_text(const json_t *string, size_t max)
{
    const char *text = json_string_value(string);
    size_t len = json_string_length(string);
    cleanup(buf_done) struct buf out = {0};

    buf_init(&out, max);
    while (len) {
        uint32_t c = 0;
        int n = utf8_decode(text, len, &c);
        size_t used = n > 0 ? (size_t)n : 1;

        /* Full is full; out of memory is found by the string below. */
        if (n > 0 && !is_hidden(c) && buf_add(&out, text, used, NULL) < 0)
            break;
        text += used;
        len -= used;
    }
    return json_stringn(buf_str(&out), out.len);
}

static json_t *clean_member(const json_t *object, const char *key, size_t max)
{
    const json_t *text = json_object_get(object, key);

    return json_is_string(text) ? upstream_text(text, max) : NULL;
}

/* --- tools --- */

static bool is_tool_name(const json_t *name)
{
    const char *text = json_string_value(name);
    size_t len = json_string_length(name);

    if (!text || len == 0 || len > NAME_MAX_BYTES)
        return false;
    for (size_t i = 0; i < len; i++)
        if (!text[i] || (!isalnum((unsigned char)text[i]) && !strchr("_.-", text[i])))
            return false;
    return true;
}

/* As it is, within bounds: inside it only says what parameters there are. */
static json_t *schema_of(const json_t *tool, const char *key)
{
    json_t *schema = json_object_get(tool, key);
    size_t size = json_is_object(schema) ? json_dumpb(schema, NULL, 0, JSON_COMPACT) : 0;

    return size && size <= LIMIT_UPSTREAM_SCHEMA ? json_incref(schema) : NULL;
}

/* NULL is left out; -1: out of memory. */
static int put(json_t *object, const char *key, json_t *value)
{
    return value ? json_object_set_new(object, key, value) : 0;
}

static json_t *clean_tool(const json_t *tool)
{
    const json_t *hints = json_object_get(tool, "annotations");
    json_t *clean = json_object();

    if (put(clean, "name", json_incref(json_object_get(tool, "name"))) < 0 ||
        put(clean, "title", clean_member(tool, "title", TITLE_MAX_BYTES)) < 0 ||
        put(clean, "description", clean_member(tool, "description", LIMIT_UPSTREAM_DESCRIPTION)) <
            0 ||
        put(clean, "input", schema_of(tool, "inputSchema")) < 0 ||
        put(clean, "output", schema_of(tool, "outputSchema")) < 0 ||
        put(clean, "read_only",
            json_boolean(json_is_true(json_object_get(hints, "readOnlyHint")))) < 0 ||
        put(clean, "destructive",
            json_boolean(!json_is_false(json_object_get(hints, "destructiveHint")))) < 0) {
        json_decref(clean);
        return NULL;
    }
    return clean;
}

int upstream_tools_add(json_t *tools, const json_t *result, struct error *err)
{
    const json_t *page = json_object_get(result, "tools");
    const json_t *tool;
    int left_out = 0;
    size_t i;

    if (!json_is_array(page))
        return error_set(err, E_PROTOCOL, "the server's answer to tools/list has no list of tools");
    json_array_foreach(page, i, tool)
    {
        const json_t *name = json_object_get(tool, "name");

        if (!is_tool_name(name) || json_array_size(tools) >= LIMIT_UPSTREAM_TOOLS ||
            upstream_tools_find(tools, json_string_value(name))) {
            left_out++;
            continue;
        }
        if (json_array_append_new(tools, clean_tool(tool)) < 0)
            return error_memory(err);
    }
    return left_out;
}

const char *upstream_tools_next(const json_t *result)
{
    const json_t *cursor = json_object_get(result, "nextCursor");

    return json_is_string(cursor) && json_string_length(cursor) <= KIB ? json_string_value(cursor)
                                                                       : NULL;
}

const json_t *upstream_tools_find(const json_t *tools, const char *name)
{
    const json_t *tool;
    size_t i;

    json_array_foreach(tools, i, tool)
    {
        if (strcmp(json_string_value(json_object_get(tool, "name")), name) == 0)
            return tool;
    }
    return NULL;
}

/* --- results of calls --- */

/* Parts as they came: inside they are data like any other. */
static json_t *content_of(const json_t *result)
{
    const json_t *content = json_object_get(result, "content");
    json_t *parts = json_is_array(content) ? json_array() : NULL;
    json_t *part;
    size_t i;

    json_array_foreach(content, i, part)
    {
        if (parts && json_is_string(json_object_get(part, "type")) &&
            json_array_append(parts, part) < 0) {
            json_decref(parts);
            return NULL;
        }
    }
    return parts;
}

json_t *upstream_result(const json_t *result, struct error *err)
{
    const char *type = json_string_value(json_object_get(result, "resultType"));
    json_t *structured = json_object_get(result, "structuredContent");
    json_t *clean;

    if (type && strcmp(type, "complete") != 0) {
        (void)error_set(err, E_PROTOCOL, "the server's answer is not a result");
        (void)error_hint(
            err,
            "the tool asks for input or continues in the background, which is not supported here");
        return NULL;
    }
    clean = json_object();
    if (put(clean, "content", content_of(result)) < 0 ||
        (structured && put(clean, "structured", json_incref(structured)) < 0) ||
        (json_is_true(json_object_get(result, "isError")) &&
         put(clean, "is_error", json_true()) < 0)) {
        json_decref(clean);
        clean = NULL;
    }
    if (!clean)
        (void)error_memory(err);
    else if (json_object_size(clean) == 0)
        (void)error_set(err, E_PROTOCOL, "the server's answer has no content");
    if (clean && json_object_size(clean) == 0) {
        json_decref(clean);
        clean = NULL;
    }
    return clean;
}
