/* Hints for whoever reads an answer over MCP: a model, which has tools and no command line.
 *
 * Hints are written where a cause is known, for every door. Some of their clauses are for the
 * operator: commands, options, settings. Those are left out here, and where nothing else remains
 * the reader learns that it is the operator's. A clause about a field of the request stays if the
 * tool has that field.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "mcp/internal.h"

#define HINT_MAX (16 * KIB)

#define FOR_OPERATOR "only the operator can change this; do without it, or ask the user"

#define FOR_NETWORK                                                                                \
    "code reaches only hosts that the operator granted; do without it, or ask the user"

/* Between two clauses. */
static const char *const joints[] = {"; ", ", or ", " or "};

static bool has(const char *text, size_t len, const char *word)
{
    return memmem(text, len, word, strlen(word)) != NULL;
}

static bool is_operators(const char *text, size_t len)
{
    static const char *const words[] = {"`--",
                                        " --",
                                        "(--",
                                        "in the settings",
                                        "configuration",
                                        "`belljar",
                                        "XDG_",
                                        "the operator",
                                        "[grants]",
                                        "[servers",
                                        "[functions",
                                        "[environments",
                                        "of the request",
                                        "in the request",
                                        "use the profile",
                                        "choose a profile",
                                        "`trail"};

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (has(text, len, words[i]))
            return true;
    return false;
}

/* "raise `timeout_s` (`--timeout`)": what is in backquotes, up to `(`. */
static const struct schema_field *field_of(const struct mcp_call *call, const char *text,
                                           size_t len)
{
    const char *open = memchr(text, '`', len);
    const char *close = open ? memchr(open + 1, '`', len - (size_t)(open + 1 - text)) : NULL;

    for (const struct schema_field *f = close && call->tool ? call->tool->input : NULL;
         f && f->name; f++)
        if (strlen(f->name) == (size_t)(close - open - 1) &&
            memcmp(f->name, open + 1, strlen(f->name)) == 0)
            return f;
    return NULL;
}

/* A limit that can be raised in a request stands in front of its option. */
static bool is_raise(const char *text, size_t len)
{
    return len > 7 && memcmp(text, "raise `", 7) == 0;
}

static int add_clause(const struct mcp_call *call, const char *text, size_t len, struct buf *out)
{
    const struct schema_field *field = field_of(call, text, len);

    if (is_raise(text, len)) {
        if (!field || strcmp(field->name, "net") == 0)
            return 0;
        return buf_printf(out, NULL, "%sraise `%s`", out->len ? ", or " : "", field->name);
    }
    if (is_operators(text, len))
        return 0;
    if (out->len && buf_add_str(out, "; ", NULL) < 0)
        return -1;
    return buf_add(out, text, len, NULL);
}

/* Returns the beginning of the next clause, and the length of this one. */
static const char *next_clause(const char *text, size_t *ret_len)
{
    const char *first = NULL;
    size_t skip = 0;

    for (size_t i = 0; i < ARRAY_SIZE(joints); i++) {
        const char *at = strstr(text, joints[i]);

        if (at && (!first || at < first)) {
            first = at;
            skip = strlen(joints[i]);
        }
    }
    *ret_len = first ? (size_t)(first - text) : strlen(text);
    return first ? first + skip : NULL;
}

int mcp_add_hint(const struct mcp_call *call, const char *hint, struct buf *out)
{
    cleanup(buf_done) struct buf kept = {0};
    const char *at = hint;
    size_t len;

    if (!is_operators(hint, strlen(hint)) && !strstr(hint, "raise `"))
        return buf_add_str(out, hint, NULL);
    buf_init(&kept, HINT_MAX);
    while (at) {
        const char *next = next_clause(at, &len);

        if (add_clause(call, at, len, &kept) < 0)
            break;
        at = next;
    }
    if (!kept.len)
        return buf_add_str(out, strstr(hint, "--net ") ? FOR_NETWORK : FOR_OPERATOR, NULL);
    return buf_add(out, kept.data, kept.len, NULL);
}

json_t *mcp_hint_json(const struct mcp_call *call, const char *hint)
{
    cleanup(buf_done) struct buf text = {0};

    buf_init(&text, HINT_MAX);
    (void)mcp_add_hint(call, hint, &text);
    return json_text_string(buf_str(&text), text.len);
}
