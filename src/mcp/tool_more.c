/* The short list of tools, and `more`, by which everything else is found and called.
 *
 * Most clients show a model every listed tool in every conversation, whether it is used or not. So
 * four are listed, and their descriptions say only what a model cannot guess.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/language.h"
#include "base/suggest.h"
#include "calls/apis.h"
#include "engine/place.h"
#include "mcp/tools.h"

#define TEXT_BYTES (256 * KIB)

#define TOOLS_MAX 64

/* --- how a tool is called --- */

int mcp_add_way(const struct mcp_call *call, const char *tool, const char *arguments,
                struct buf *out)
{
    if (mcp_call_lists(call, tool) || !mcp_call_lists(call, mcp_door_more.name))
        return buf_printf(out, NULL, "%s {%s}", tool, arguments);
    return buf_printf(out, NULL, "%s {\"tool\": \"%s\", \"arguments\": {%s}}", mcp_door_more.name,
                      tool, arguments);
}

const char *mcp_runner(const struct mcp_call *call)
{
    static const struct mcp_tool *const runners[] = {&mcp_door_run, &mcp_compat_execute_python,
                                                     &mcp_compat_execute_code, &mcp_tool_python};

    for (size_t i = 0; i < ARRAY_SIZE(runners); i++)
        if (mcp_call_lists(call, runners[i]->name))
            return runners[i]->name;
    return mcp_tool_python.name;
}

/* --- topics --- */

static void add_grants(const struct mcp_call *call, struct buf *out);
static void add_modules(const struct mcp_call *call, struct buf *out);

struct topic {
    const char *name;
    const char *about;                                         /* in the list of topics */
    const char *text;                                          /* or NULL */
    void (*add)(const struct mcp_call *call, struct buf *out); /* what only the host knows */
    const struct mcp_tool *tools[9];
};

/* clang-format off */
static const struct topic topics[] = {
    {"api", "functions for code: search, edit, analyse and refactor many files, git",
     "Import in code, for example `from api import code_transform`. The functions report what they "
     "did, not the files.\n",
     add_modules, {0}},
    {"files", "what is where; list, read, write",
     "/workspace lasts as long as the session.\n",
     add_grants, {&mcp_tool_list, &mcp_door_read, &mcp_door_write}},
    {"output", "answers that were cut: page through them, or search",
     "An answer has about 2000 tokens; `max_tokens` in the arguments of any tool sets another "
     "number. What is cut is kept for a while under the handle that the answer names.\n",
     NULL, {&mcp_tool_output}},
    {"sessions", "variables and files that stay: new, list, end, status, interrupt, restart, fork",
     "A session is a sandbox that stays; refactoring sessions (topic state) are saved data. Calls on one connection share a session. session_id \"new\" opens another one, and the answer "
     "names its id. A fork needs a session in which no process is running. Clients of 2026-07-28 have no "
     "connection: without session_id each call is on its own.\n",
     NULL, {&mcp_door_run, &mcp_tool_status, &mcp_tool_interrupt, &mcp_tool_restart, &mcp_tool_fork,
            &mcp_tool_open_sessions, &mcp_tool_end, &mcp_tool_keep}},
    {"long", "code that takes long: an answer before its end, wait, interrupt",
     "`wait_s` in the arguments of the call that runs code: it is answered after so many seconds at "
     "the latest, and the code goes on, until `timeout_s`.\n",
     NULL, {&mcp_door_run, &mcp_tool_wait, &mcp_tool_interrupt}},
    {"commands", "programs beside the code, such as servers: start, output, input, kill",
     NULL, NULL, {&mcp_tool_command}},
    {"check", "problems of code before it runs",
     NULL, NULL, {&mcp_tool_check}},
    {"state", "JSON that outlives sessions and conversations",
     NULL, NULL, {&mcp_tool_work_create, &mcp_tool_work_save, &mcp_tool_work_load,
                  &mcp_tool_work_list, &mcp_tool_work_delete}},
    {"skills", "code that later programs import",
     NULL, NULL, {&mcp_tool_skill_list, &mcp_tool_skill_info, &mcp_tool_skill_file, &mcp_tool_skill_save}},
    {"network", "hosts that code may reach",
     "Code reaches hosts that the operator granted, and no others. `net` in the arguments of the "
     "call that opens a session chooses among them: {\"session_id\": \"new\", \"net\": [\"HOST\"]}.\n",
     add_grants, {0}},
    {"changes", "what code changed in granted directories: review, undo",
     "review_changes is for directories that are copy-on-write, undo_run for writable ones: "
     "without run_id it takes back the last run that changed something, called again the one "
     "before.\n",
     NULL, {&mcp_tool_changes, &mcp_tool_undo}},
};
/* clang-format on */

static void add_grants(const struct mcp_call *call, struct buf *out)
{
    mcp_place_add(call, NULL, out);
}

/* --- what code can import --- */

static json_t *find_apis(const struct mcp_call *call, const char *detail, const char *name,
                         struct error *err)
{
    const struct apis_place place = mcp_apis_place(call);
    json_t *arguments = json_pack("{s:s, s:s*}", "detail", detail, "name", name), *value = NULL;

    if (apis_list(&place, arguments, &value, err) < 0)
        value = NULL;
    json_decref(arguments);
    return value;
}

/* "api.web: read_page, search" */
static void add_names(const char *title, const json_t *names, struct buf *out)
{
    const json_t *name;
    size_t i;

    if (!json_array_size(names))
        return;
    (void)buf_printf(out, NULL, "%s:", title);
    json_array_foreach(names, i, name)
    {
        (void)buf_printf(out, NULL, "%s %s", i ? "," : "", json_string_value(name));
    }
    (void)buf_add_str(out, "\n", NULL);
}

static void add_modules(const struct mcp_call *call, struct buf *out)
{
    static const char *const kinds[] = {"helpers", "servers", "skills"};
    json_t *found = find_apis(call, "names", NULL, NULL), *names;
    const char *module;

    json_object_foreach(json_object_get(found, "apis"), module, names)
    {
        add_names(module, names, out);
    }
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        add_names(kinds[i], json_object_get(found, kinds[i]), out);
    (void)buf_add_str(out,
                      "As a topic, a module or function shows how it is called: "
                      "api.filesystem, skills.NAME.\n",
                      NULL);
    json_decref(found);
}

static void add_text(const json_t *object, const char *key, struct buf *out)
{
    const char *text = json_string_value(json_object_get(object, key));

    if (text)
        (void)buf_printf(out, NULL, "%s\n", text);
}

static void add_module(const char *name, const json_t *module, struct buf *out)
{
    const json_t *function;
    size_t i;

    (void)buf_printf(out, NULL, "%s: ", name);
    add_text(module, "description", out);
    json_array_foreach(json_object_get(module, "functions"), i, function)
    {
        if (json_is_string(function))
            (void)buf_printf(out, NULL, "%s\n", json_string_value(function));
        add_text(function, "signature", out);
        add_text(function, "help", out);
        add_text(function, "example", out);
    }
}

/* False: there is no such module or function. */
static bool add_api(const struct mcp_call *call, const char *name, struct buf *out)
{
    json_t *found = find_apis(call, "signatures", name, NULL), *modules, *module;
    const char *key;
    bool is_one = false;

    modules = json_object_get(found, "apis");
    json_object_foreach(modules, key, module)
    {
        is_one = json_array_size(json_object_get(module, "functions")) == 1;
    }
    if (json_object_size(modules) == 1 && is_one) { /* then there is room for its help */
        json_decref(found);
        found = find_apis(call, "full", name, NULL);
        modules = json_object_get(found, "apis");
    }
    json_object_foreach(modules, key, module)
    {
        add_module(key, module, out);
    }
    is_one = json_object_size(modules) > 0;
    json_decref(found);
    return is_one;
}

/* --- explaining --- */

/* "name(path, offset?): what it does" */
static void add_signature(const struct mcp_tool *tool, struct buf *out)
{
    (void)buf_printf(out, NULL, "%s(", tool->name);
    for (const struct schema_field *f = tool->input; f && f->name; f++)
        (void)buf_printf(out, NULL, "%s%s%s", f == tool->input ? "" : ", ", f->name,
                         f->is_required ? "" : "?");
    (void)buf_printf(out, NULL, "): %s\n", tool->description);
}

static void add_fields(const struct mcp_tool *tool, struct buf *out)
{
    for (const struct schema_field *f = tool->input; f && f->name; f++)
        (void)buf_printf(out, NULL, "  %s: %s%s%s%s\n", f->name, f->help ? f->help : "",
                         f->choices ? "; one of " : "", f->choices ? f->choices : "",
                         f->is_required ? "" : " (optional)");
}

static void add_ways(const struct mcp_call *call, bool can_enable, struct buf *out)
{
    if (!mcp_call_lists(call, mcp_door_more.name))
        return;
    (void)buf_printf(out, NULL,
                     "Call tools by name, or as %s {\"tool\": NAME, \"arguments\": {…}}.",
                     mcp_door_more.name);
    if (can_enable)
        (void)buf_add_str(out, " \"enable\": true with the topic lists them as tools.", NULL);
    (void)buf_add_str(out, "\n", NULL);
}

static void add_topics(const struct mcp_call *call, struct buf *out)
{
    for (size_t i = 0; i < ARRAY_SIZE(topics); i++)
        (void)buf_printf(out, NULL, "%s: %s\n", topics[i].name, topics[i].about);
    (void)buf_add_str(out, "tools: all tools; a tool's name explains that one\n", NULL);
    (void)buf_add_str(out, "For running code:\n", NULL);
    add_signature(&mcp_door_run, out);
    add_ways(call, false, out);
}

static void add_topic(const struct mcp_call *call, const struct topic *topic, struct buf *out)
{
    if (topic->text)
        (void)buf_add_str(out, topic->text, NULL);
    if (topic->add)
        topic->add(call, out);
    for (size_t i = 0; i < ARRAY_SIZE(topic->tools) && topic->tools[i]; i++)
        add_signature(topic->tools[i], out);
    if (topic->tools[0])
        add_ways(call, call->era == MCP_LEGACY, out);
}

/* Names alone: each is a topic, too. */
static void add_tools(const struct mcp_call *call, struct buf *out)
{
    const struct mcp_host *host = mcp_host_of(call);

    (void)buf_add_str(out, mcp_door_run.name, NULL);
    for (const struct mcp_tool *const *t = host->listed; *t; t++)
        (void)buf_printf(out, NULL, ", %s", (*t)->name);
    (void)buf_printf(out, NULL, ", %s", mcp_tool_check.name);
    (void)buf_add_str(out, "\nA name as topic explains that tool.\n", NULL);
    add_ways(call, call->era == MCP_LEGACY, out);
}

/* Words that are asked for, and the topic that answers them. */
static const struct {
    const char *word, *topic;
} other_words[] = {
    {"background", "long"},    {"code", "api"},          {"directories", "files"},
    {"environment", "files"},  {"fork", "sessions"},     {"git", "api"},
    {"hosts", "network"},      {"languages", "files"},   {"libraries", "files"},
    {"limits", "files"},       {"memory", "files"},      {"modules", "files"},
    {"server", "commands"},    {"terminal", "commands"}, {"packages", "files"},
    {"refactor", "api"},       {"rename", "api"},        {"review", "changes"},
    {"search", "api"},         {"timeout", "long"},      {"undo", "changes"},
    {"variables", "sessions"}, {"wait", "long"},
};

static const struct topic *find_topic(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(other_words); i++)
        if (strcmp(other_words[i].word, name) == 0)
            name = other_words[i].topic;
    for (size_t i = 0; i < ARRAY_SIZE(topics); i++)
        if (strcmp(topics[i].name, name) == 0)
            return &topics[i];
    return NULL;
}

/* "apply changes" means review_changes: a tool with one of these words in its name. */
static const char *tool_of_words(const struct mcp_call *call, const char *words)
{
    const char *known[TOOLS_MAX];
    size_t count = 0;

    for (const struct mcp_tool *const *t = mcp_host_of(call)->listed; *t && count < TOOLS_MAX; t++)
        known[count++] = (*t)->name;
    return suggest_by_words(words, known, count);
}

static int refuse_topic(const struct mcp_call *call, const char *name, struct error *err)
{
    const char *known[ARRAY_SIZE(topics) + 1] = {0}, *nearest;
    cleanup(buf_done) struct buf all = BUF_OF(KIB);

    for (size_t i = 0; i < ARRAY_SIZE(topics); i++) {
        known[i] = topics[i].name;
        (void)buf_printf(&all, NULL, "%s, ", known[i]);
    }
    known[ARRAY_SIZE(topics)] = "tools";
    nearest = suggest_nearest(name, known, ARRAY_SIZE(known));
    if (!nearest)
        nearest = tool_of_words(call, name);
    error_set(err, E_NOT_FOUND, "there is no such topic");
    return error_hint(err, "%s%s%stopics: %stools; the name of a tool or of a function is one, too",
                      nearest ? "did you mean `" : "", nearest ? nearest : "", nearest ? "`? " : "",
                      buf_str(&all));
}

static int explain(const struct mcp_call *call, const char *name, struct buf *out,
                   struct error *err)
{
    const struct topic *topic = name ? find_topic(name) : NULL;
    const struct mcp_tool *tool = name && !topic ? mcp_tool_find(call->server, name) : NULL;

    if (!name || !*name) {
        add_topics(call, out);
    } else if (topic) {
        add_topic(call, topic, out);
    } else if (strcmp(name, "tools") == 0) {
        add_tools(call, out);
    } else if (tool) {
        add_signature(tool, out);
        add_fields(tool, out);
    } else if (!add_api(call, name, out)) {
        return refuse_topic(call, name, err);
    }
    return 0;
}

/* --- listing more tools --- */

static void enable(struct mcp_call *call, const char *name, struct buf *out)
{
    const struct mcp_host *host = mcp_host_of(call);
    const struct topic *topic = find_topic(name);
    const struct mcp_tool *const one[] = {mcp_tool_find(call->server, name), NULL};
    const struct mcp_tool *const *tools = topic                        ? topic->tools
                                          : strcmp(name, "tools") == 0 ? host->listed
                                                                       : one;
    size_t count = topic ? ARRAY_SIZE(topic->tools) : MCP_TOOLS_MAX, n_enabled = 0;

    for (size_t i = 0; i < count && tools[i]; i++)
        n_enabled += mcp_call_enable(call, tools[i]);
    if (n_enabled)
        mcp_call_tools_changed(call);
    (void)buf_printf(out, NULL,
                     n_enabled ? "%zu more tools are listed now.\n" : "Nothing more was listed.\n",
                     n_enabled);
}

/* --- the tool --- */

static void answer(struct mcp_call *call, const struct buf *text)
{
    size_t len = 0;
    cleanup_free char *masked = mcp_mask(mcp_host_of(call), buf_str(text), text->len, &len);
    struct error err = {0};

    if (masked) {
        mcp_call_answer(call, mcp_text_result(masked, len, false));
        return;
    }
    error_set(&err, E_SYSTEM, "the answer could not be masked");
    mcp_call_fail(call, &err);
}

/* Through here every tool can be called, also by clients that call none but listed ones. */
static void redirect(struct mcp_call *call, const char *name)
{
    const struct mcp_tool *tool = mcp_tool_find(call->server, name);
    json_t *arguments = json_incref(json_object_get(call->arguments, "arguments"));
    struct error err = {0};

    if (tool && tool != &mcp_door_more) {
        mcp_call_redirect(call, tool, arguments);
    } else {
        error_set(&err, E_NOT_FOUND,
                  tool ? "`more` cannot be called through itself" : "there is no such tool");
        error_hint(&err, "{\"topic\": \"tools\"} lists them");
        mcp_call_fail(call, &err);
    }
    json_decref(arguments);
}

static void answer_topic(struct mcp_call *call)
{
    const char *topic = json_string_value(json_object_get(call->arguments, "topic"));
    cleanup(buf_done) struct buf text = BUF_OF(TEXT_BYTES);
    struct error err = {0};

    if (explain(call, topic, &text, &err) < 0) {
        mcp_call_fail(call, &err);
        return;
    }
    if (topic && json_is_true(json_object_get(call->arguments, "enable")))
        enable(call, topic, &text);
    answer(call, &text);
}

static void more(struct mcp_call *call)
{
    const char *tool = json_string_value(json_object_get(call->arguments, "tool"));
    const char *topic = json_string_value(json_object_get(call->arguments, "topic"));

    if (tool)
        redirect(call, tool);
    else
        mcp_apis_with(call, topic && !find_topic(topic) ? topic : NULL, answer_topic);
}

static void run_code(struct mcp_call *call)
{
    mcp_run_cell(call, "code", language_of_json(call->arguments));
}

/* clang-format off */
static const struct schema_field run_fields[] = {
    {"code", SCHEMA_STRING, .is_required = true, .max_len = LIMIT_CODE_BYTES,
     .help = "source", .example = "\"print(1 + 1)\""},
    API_LANGUAGE_FIELD,
    {"session_id", SCHEMA_STRING, .max_len = 64, .example = "\"new\"",
     .help = "a session of an earlier result, or \"new\"; without it, the connection's own"},
    API_TIMEOUT_FIELD,
    MCP_WAIT_FIELD,
    {"net", SCHEMA_STRINGS, .max_len = LIMIT_NET_GRANTS, .example = "[\"api.example.org\"]",
     .help = "hosts to reach, among those the operator allows; only when a session is opened"},
    {0},
};

static const struct schema_field more_fields[] = {
    {"topic", SCHEMA_STRING, .max_len = 256, .example = "\"files\"",
     .help = "a topic, a tool, or what code can import; without it, the list of topics"},
    {"enable", SCHEMA_BOOLEAN, .example = "true", .help = "list the tools of the topic"},
    {"tool", SCHEMA_STRING, .max_len = 64, .example = "\"list_files\"", .help = "a tool to call"},
    {"arguments", SCHEMA_OBJECT, .example = "{\"path\": \"data\"}", .help = "of that tool"},
    {0},
};

#define STRING "{\"type\":\"string\"}"

const struct mcp_tool mcp_door_run = {
    .name = "run_code",
    .description = "Run code in a sandbox. Variables and files stay. The last expression is the result.",
    .input = run_fields,
    .input_json = "{\"type\":\"object\",\"properties\":{\"code\":" STRING ","
                  "\"language\":{\"type\":\"string\",\"enum\":[\"python\",\"bash\",\"javascript\",\"typescript\"]},"
                  "\"session_id\":" STRING ",\"wait_s\":{\"type\":\"number\"}},\"required\":[\"code\"]}",
    .call = run_code,
    .may_be_task = true,
    .is_brief = true,
};

const struct mcp_tool mcp_door_more = {
    .name = "more",
    .description = "Explain a topic, or call a tool by name",
    .input = more_fields,
    .input_json = "{\"type\":\"object\",\"properties\":{\"topic\":" STRING ",\"tool\":" STRING ","
                  "\"arguments\":{\"type\":\"object\"}}}",
    .call = more,
    .may_be_task = true,
    .is_brief = true,
};
/* clang-format on */
