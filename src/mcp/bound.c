/* One bound for every answer of a tool, whatever is in it.
 *
 * Texts are cut in their middle, since the beginning says what happened and the end how it ended.
 * Structured content keeps its shape: long strings and lists in it become shorter. The whole is
 * kept, and the text says where (saved_answers.c). Pictures are not text and stay.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "mcp/internal.h"

/* Of an error of the protocol: its words may be the client's own. */
#define ERROR_BYTES ((size_t)1000)

/* No text of JSON has more bytes in a token, on average. */
#define TOKEN_BYTES ((size_t)16)

/* A name that is longer is no name. */
#define KEY_BYTES 64

/* Names at the top of an object that stay, as a schema promises them. */
#define TOP_MAX 32

/* --- counting --- */

static size_t tokens_of_json(const json_t *value, size_t most)
{
    cleanup(buf_done) struct buf text = {0};

    buf_init(&text, most * TOKEN_BYTES + KIB);
    if (json_text_dump(value, JSON_TEXT_COMPACT, &text, NULL) < 0)
        return most + 1;
    return mcp_tokens(buf_str(&text), text.len, most);
}

static bool is_type(const json_t *block, const char *type)
{
    const char *own = json_string_value(json_object_get(block, "type"));

    return own && strcmp(own, type) == 0;
}

/* Pictures and sound cost what they cost; no text of theirs is read. */
static size_t tokens_of_block(const json_t *block, size_t most)
{
    const json_t *text = json_object_get(block, "text");

    if (is_type(block, "text"))
        return mcp_tokens(json_string_value(text), json_string_length(text), most);
    if (is_type(block, "image") || is_type(block, "audio"))
        return 0;
    return tokens_of_json(block, most);
}

static size_t tokens_of_content(const json_t *content, size_t most)
{
    const json_t *block;
    size_t i, sum = 0;

    json_array_foreach(content, i, block)
    {
        sum += tokens_of_block(block, most);
    }
    return sum;
}

/* --- structured content --- */

struct shape {
    size_t string, items; /* what is left of one */
};

static json_t *shorter_string(const json_t *value, size_t most)
{
    cleanup(buf_done) struct buf cut = {0};
    const char *text = json_string_value(value);
    size_t len = json_string_length(value), shown = most;

    if (len <= most)
        return json_incref((json_t *)value);
    while (shown && ((unsigned char)text[shown] & 0xc0) == 0x80)
        shown--;
    buf_init(&cut, most + 64);
    (void)buf_add(&cut, text, shown, NULL);
    (void)buf_printf(&cut, NULL, "… (%zu bytes more)", len - shown);
    return json_text_string(buf_str(&cut), cut.len);
}

static json_t *shorter(const json_t *value, const struct shape *shape, bool is_top)
{
    bool is_small = is_top && json_object_size(value) <= TOP_MAX;
    const json_t *item;
    json_t *copy;
    const char *key;
    size_t i = 0;

    if (json_is_string(value))
        return shorter_string(value, shape->string);
    if (json_is_array(value)) {
        copy = json_array();
        for (i = 0; i < json_array_size(value) && i < shape->items; i++)
            (void)json_array_append_new(copy, shorter(json_array_get(value, i), shape, false));
        return copy;
    }
    if (!json_is_object(value))
        return json_incref((json_t *)value);
    copy = json_object();
    json_object_foreach((json_t *)value, key, item)
    {
        if ((is_small || i++ < shape->items) && strlen(key) <= shape->string + KEY_BYTES)
            json_set(copy, key, shorter(item, shape, false));
    }
    return copy;
}

json_t *mcp_shrink(const json_t *value, size_t budget)
{
    struct shape shape = {.string = 4096, .items = 256};
    json_t *copy = shorter(value, &shape, true);

    while (tokens_of_json(copy, budget) > budget && (shape.items || shape.string)) {
        /* In small steps where it is near. */
        size_t part = tokens_of_json(copy, 4 * budget) > 4 * budget ? 2 : 3;

        json_decref(copy);
        shape.string = shape.string * part / 4;
        shape.items = shape.items * part / 4;
        copy = shorter(value, &shape, true);
    }
    return copy;
}

/* --- text --- */

size_t mcp_count_lines(const char *text, size_t len)
{
    size_t count = 0;

    for (const char *at = text; (at = memchr(at, '\n', len - (size_t)(at - text))); at++)
        count++;
    return count;
}

/* From where on the end of the text is about so many tokens. */
static size_t tail_of(const char *text, size_t len, size_t budget)
{
    size_t take = budget * 4 < len ? budget * 4 : len, at;

    while (take > 1 && mcp_tokens(text + len - take, take, budget) > budget)
        take -= take / 8 + 1;
    at = len - take;
    while (at < len && ((unsigned char)text[at] & 0xc0) == 0x80)
        at++;
    return at;
}

/* Whole lines where that costs little. */
static size_t back_to_line(const char *text, size_t at)
{
    const char *end = memrchr(text, '\n', at);
    size_t whole = end ? (size_t)(end - text) + 1 : 0;

    return whole > at / 2 ? whole : at;
}

static size_t on_to_line(const char *text, size_t at, size_t len)
{
    const char *end = memchr(text + at, '\n', len - at);
    size_t whole = end ? (size_t)(end - text) + 1 : len;

    return len - whole > (len - at) / 2 ? whole : at;
}

void mcp_cut(const char *text, size_t len, size_t budget, size_t *ret_head, size_t *ret_tail)
{
    *ret_head = back_to_line(text, mcp_tokens_fit(text, len, budget * 2 / 3, NULL));
    *ret_tail = on_to_line(text, tail_of(text, len, budget / 3), len);
    if (*ret_tail < *ret_head)
        *ret_tail = *ret_head;
}

static void add_way(const struct mcp_call *call, const char *arguments, struct buf *out)
{
    if (call->server->options.add_way)
        (void)call->server->options.add_way(call, "read_output", arguments, out);
    else
        (void)buf_printf(out, NULL, "read_output {%s}", arguments);
}

static void add_cut(const struct mcp_call *call, const char *id, size_t line, size_t lines,
                    size_t bytes, struct buf *out)
{
    char arguments[128];

    (void)buf_add_str(out, out->len && out->data[out->len - 1] != '\n' ? "\n[cut] " : "[cut] ",
                      NULL);
    if (lines > 1)
        (void)buf_printf(out, NULL, "%zu lines, ", lines);
    (void)buf_printf(out, NULL, "%zu bytes left out here", bytes);
    if (id) {
        (void)snprintf(arguments, sizeof(arguments), "\"handle\": \"%s\", \"line\": %zu", id, line);
        (void)buf_add_str(out, "; all of it (or add \"search\"): ", NULL);
        add_way(call, arguments, out);
    }
    (void)buf_add_str(out, "\n", NULL);
}

/* The words about the cut are tokens, too. */
#define CUT_TOKENS 70

static json_t *cut_text(struct mcp_call *call, const char *text, size_t len, size_t budget)
{
    cleanup(buf_done) struct buf out = {0};
    size_t head, tail;
    const char *id;

    mcp_cut(text, len, budget > CUT_TOKENS ? budget - CUT_TOKENS : 0, &head, &tail);
    id = mcp_keep(call->server, call->owner, text, len);
    buf_init(&out, len + KIB);
    (void)buf_add(&out, text, head, NULL);
    add_cut(call, id, mcp_count_lines(text, head) + 1, mcp_count_lines(text + head, tail - head),
            tail - head, &out);
    (void)buf_add(&out, text + tail, len - tail, NULL);
    return json_text_string(buf_str(&out), out.len);
}

/* --- answers --- */

/* Bytes in a block can be read as a resource, or by code. */
static json_t *instead_of(const json_t *block)
{
    const json_t *resource = json_object_get(block, "resource");
    const char *uri = json_string_value(json_object_get(resource, "uri"));
    const char *blob = json_string_value(json_object_get(resource, "blob"));
    size_t len = blob ? strlen(blob) / 4 * 3 : 0;
    char text[256];

    for (const char *end = blob ? strchr(blob, '=') : NULL; end && *end == '='; end++)
        len--;

    (void)snprintf(text, sizeof(text),
                   "[cut] %zu bytes that are not text; code can read them, and they are the "
                   "resource %.120s\n",
                   len, uri ? uri : "");
    return json_pack("{s:s, s:o}", "type", "text", "text", json_text_string(text, strlen(text)));
}

/* The first text gets what the other blocks leave over. */
static void bound_content(struct mcp_call *call, json_t *content, size_t budget)
{
    json_t *block;
    size_t i, others = 0;

    for (i = json_array_size(content);
         i-- > 1;) { /* links and the like: as many as fit a quarter */
        block = json_array_get(content, i);
        if (is_type(block, "text") || is_type(block, "image") || is_type(block, "audio"))
            continue;
        others += tokens_of_block(block, budget);
        if (others > budget / 4)
            (void)json_array_remove(content, i);
    }
    json_array_foreach(content, i, block)
    {
        const json_t *text = json_object_get(block, "text");

        if (is_type(block, "resource") && tokens_of_block(block, budget) > budget)
            (void)json_array_set_new(content, i, instead_of(block));
        if (!is_type(block, "text") ||
            mcp_tokens(json_string_value(text), json_string_length(text), budget) <= budget)
            continue;
        json_set(block, "text",
                 cut_text(call, json_string_value(text), json_string_length(text), budget));
    }
}

void mcp_bound(struct mcp_call *call, json_t *result)
{
    size_t budget = call->max_tokens, own = 0;
    json_t *content = json_object_get(result, "content");
    json_t *structured = json_object_get(result, "structuredContent");

    if (!budget)
        return;
    if (structured)
        own = tokens_of_json(structured, budget);
    if (own + tokens_of_content(content, budget) <= budget)
        return;
    if (own > budget / 4) {
        json_set(result, "structuredContent", mcp_shrink(structured, budget / 4));
        own = tokens_of_json(json_object_get(result, "structuredContent"), budget / 4);
    }
    bound_content(call, content, budget - (own < budget / 2 ? own : budget / 2));
}

json_t *mcp_bound_object(struct mcp_call *call, json_t *object, size_t budget)
{
    cleanup(buf_done) struct buf words = BUF_OF(KIB);
    cleanup_free char *whole = NULL;
    const char *id = NULL;
    char arguments[64];
    json_t *cut;

    if (!call->max_tokens || tokens_of_json(object, budget) <= budget)
        return json_incref(object);
    cut = mcp_shrink(object, budget > CUT_TOKENS ? budget - CUT_TOKENS : 0);
    whole = json_dumps(object, JSON_INDENT(1));
    if (whole)
        id = mcp_keep(call->server, call->owner, whole, strlen(whole));
    (void)buf_add_str(&words, "long parts were left out", NULL);
    if (id) {
        (void)snprintf(arguments, sizeof(arguments), "\"handle\": \"%s\"", id);
        (void)buf_add_str(&words, "; all of it: ", NULL);
        add_way(call, arguments, &words);
    }
    json_set(cut, "cut", json_text_string(buf_str(&words), words.len));
    return cut;
}

/* --- errors of the protocol --- */

json_t *mcp_bound_string(const char *text, size_t len)
{
    json_t *whole = json_text_string(text, len), *cut = shorter_string(whole, ERROR_BYTES);

    json_decref(whole);
    return cut;
}

json_t *mcp_bound_data(json_t *data)
{
    const struct shape shape = {.string = ERROR_BYTES, .items = 64};
    json_t *copy = data ? shorter(data, &shape, true) : NULL;

    json_decref(data);
    return copy;
}
