/* Prompts: a few beginnings for work that is best done in a sandbox. */
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "mcp/call.h"
#include "mcp/tools.h"

static const char *argument(const struct mcp_call *call, const char *name, const char *fallback)
{
    const char *text = json_string_value(json_object_get(call->arguments, name));

    return text && *text ? text : fallback;
}

static void answer(struct mcp_call *call, const char *description, const struct buf *text)
{
    mcp_call_answer(call, json_pack("{s:s, s:[{s:s, s:{s:s, s:o}}]}", "description", description,
                                    "messages", "role", "user", "content", "type", "text", "text",
                                    json_text_string(buf_str(text), text->len)));
}

static void analyse(struct mcp_call *call)
{
    cleanup(buf_done) struct buf text = BUF_OF(MIB);

    (void)buf_printf(
        &text, NULL,
        "Analyse the data file `%s`.\n\n"
        "1. Load it with execute_python_code (pandas is there). If it is not in /workspace yet, "
        "put "
        "it there with write_file.\n"
        "2. Look before you conclude: shape, column types, missing values, duplicates, ranges. "
        "Print "
        "summaries, never the whole data.\n"
        "3. Answer this: %s\n"
        "4. Show it in one or two matplotlib figures, and say in plain words what they mean and "
        "how "
        "sure you are.\n"
        "Variables stay between calls, so work in small steps.",
        argument(call, "path", ""),
        argument(call, "question", "what is in it, and what is worth knowing about it?"));
    answer(call, "Analyse a data file", &text);
}

static void refactor(struct mcp_call *call)
{
    cleanup(buf_done) struct buf text = BUF_OF(MIB);

    (void)buf_printf(
        &text, NULL,
        "Refactor `%s`: %s.\n\n"
        "1. Read the code and find its tests; run them with execute_bash_code and note the result. "
        "Where there are none, write a few that pin the present behaviour first.\n"
        "2. fork_session before anything that may go wrong: the copy is the way back.\n"
        "3. Change one thing at a time and run the tests after each.\n"
        "4. End with a short list of what changed, what did not on purpose, and the test results "
        "before and after.",
        argument(call, "path", ""), argument(call, "goal", "clearer code, the same behaviour"));
    answer(call, "Refactor safely", &text);
}

static void audit(struct mcp_call *call)
{
    cleanup(buf_done) struct buf text = BUF_OF(MIB);

    (void)buf_printf(
        &text, NULL,
        "Audit the code below `%s`, above all for %s.\n\n"
        "1. Do the counting in the sandbox: one execute_python_code that walks the files and "
        "prints "
        "a table (files, lines, longest functions, TODOs, suspicious calls), not their text.\n"
        "2. Read only what the table points at.\n"
        "3. For each finding give file and line, why it matters, and the smallest fix; the gravest "
        "first. Say what you did not look at.",
        argument(call, "directory", "/workspace"),
        argument(call, "focus", "security and correctness"));
    answer(call, "Audit a code base", &text);
}

/* Files of the client's sessions are likely what is meant. */
static void complete_path(struct mcp_call *call, const char *name, const char *value,
                          json_t *values)
{
    json_t *list, *entry;
    size_t i;

    if (strcmp(name, "path") != 0)
        return;
    list = json_array();
    mcp_resources_list(call, list);
    json_array_foreach(list, i, entry)
    {
        json_t *path = json_object_get(entry, "name");

        if (strncmp(json_string_value(path), value, strlen(value)) == 0)
            (void)json_array_append(values, path);
    }
    json_decref(list);
}

static const struct mcp_prompt_argument analyse_arguments[] = {
    {"path", "the file, below /workspace or in an allowed directory", true},
    {"question", "what you want to know", false},
    {0},
};

static const struct mcp_prompt_argument refactor_arguments[] = {
    {"path", "file or directory", true},
    {"goal", "what should be better", false},
    {0},
};

static const struct mcp_prompt_argument audit_arguments[] = {
    {"directory", "where the code is", true},
    {"focus", "what to look for", false},
    {0},
};

static const struct mcp_prompt analyse_prompt = {
    .name = "analyse_data_file",
    .title = "Analyse a data file",
    .description = "load, check, answer a question, draw",
    .arguments = analyse_arguments,
    .get = analyse,
    .complete = complete_path,
};

static const struct mcp_prompt refactor_prompt = {
    .name = "refactor_safely",
    .title = "Refactor safely",
    .description = "tests first, small steps, a way back",
    .arguments = refactor_arguments,
    .get = refactor,
    .complete = complete_path,
};

static const struct mcp_prompt audit_prompt = {
    .name = "audit_code_base",
    .title = "Audit a code base",
    .description = "count in the sandbox, read only what matters, findings by gravity",
    .arguments = audit_arguments,
    .get = audit,
};

const struct mcp_prompt *const mcp_prompts[] = {&analyse_prompt, &refactor_prompt, &audit_prompt,
                                                NULL};
