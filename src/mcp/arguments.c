/* The arguments of a tool, as models write them. */
#include <string.h>

#include "base/cleanup.h"
#include "mcp/internal.h"

/* Other names of arguments. One counts where the tool has no argument of that name, has one of the
 * other, and got none. */
static const struct {
    const char *said, *meant;
} other_names[] = {
    {"args", "arguments"}, {"cmd", "code"},           {"code", "command"},    {"command", "code"},
    {"content", "text"},   {"contents", "content"},   {"directory", "path"},  {"file", "path"},
    {"file_path", "path"}, {"filename", "path"},      {"grep", "search"},     {"id", "handle"},
    {"lang", "language"},  {"pattern", "search"},     {"query", "search"},    {"regex", "search"},
    {"run_id", "handle"},  {"session", "session_id"}, {"start_line", "line"}, {"text", "content"},
};

bool mcp_tool_takes(const struct mcp_tool *tool, const char *name, size_t len)
{
    for (const struct schema_field *f = tool ? tool->input : NULL; f && f->name; f++)
        if (strlen(f->name) == len && memcmp(f->name, name, len) == 0)
            return true;
    return false;
}

static bool is_given(const json_t *arguments, const char *name)
{
    const json_t *value = json_object_get(arguments, name);

    return value && !json_is_null(value);
}

static const char *own_name(const json_t *given, const json_t *copy, const struct mcp_tool *tool,
                            const char *said)
{
    if (!tool || !tool->input || mcp_tool_takes(tool, said, strlen(said)))
        return said;
    for (size_t i = 0; i < ARRAY_SIZE(other_names); i++) {
        const char *meant = other_names[i].meant;

        if (strcmp(other_names[i].said, said) == 0 && mcp_tool_takes(tool, meant, strlen(meant)) &&
            !is_given(given, meant) && !json_object_get(copy, meant))
            return meant;
    }
    return said;
}

json_t *mcp_copy_arguments(const json_t *given, const struct mcp_tool *tool)
{
    json_t *copy = json_object(), *value;
    const char *key;

    json_object_foreach((json_t *)given, key, value)
    {
        if (!json_is_null(value))
            (void)json_object_set(copy, own_name(given, copy, tool, key), value);
    }
    return copy;
}
