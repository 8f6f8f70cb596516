/* Skills: code that is saved once and imported by later programs. */
#include <string.h>

#include "base/cleanup.h"
#include "front/mcp_tools.h"
#include "state/skill.h"

/* The docstring is escaped, character by character. */
#define TEXT_MAX (LIMIT_SKILL_BYTES + 16 * KIB)

static const char *argument(const struct mcp_call *call, const char *name)
{
    return json_string_value(json_object_get(call->arguments, name));
}

static int compose(const struct mcp_call *call, struct buf *text, struct error *err)
{
    const json_t *code = json_object_get(call->arguments, "code");

    buf_init(text, TEXT_MAX);
    return skill_compose((struct span){json_string_value(code), json_string_length(code)},
                         argument(call, "description"), text, err);
}

/* --- saving: what ran is stored --- */

static json_t *failure(struct mcp_call *call, struct error *err)
{
    json_t *object =
        json_pack("{s:s, s:s, s:s}", "status", "error", "code", error_code_name(err->code), "error",
                  err->message ? err->message : "out of memory");

    if (err->hint)
        (void)json_object_set_new(object, "hint", json_string(err->hint));
    error_done(err);
    return mcp_object_result(call, object, true);
}

static json_t *store_skill(struct mcp_call *call)
{
    const char *name = argument(call, "name");
    cleanup(buf_done) struct buf text = {0};
    struct error err = {0};
    struct store *store = mcp_kept(call, &err);
    int64_t version = 0;

    if (!store || compose(call, &text, &err) < 0 ||
        skill_save(store, mcp_kept_owner(call), name, (struct span){buf_str(&text), text.len},
                   argument(call, "description"), &version, &err) < 0)
        return failure(call, &err);
    return mcp_object_result(call,
                             json_pack("{s:s, s:s, s:I, s:s++, s:s++}", "status", "success",
                                       "skill_name", name, "version", (json_int_t)version, "path",
                                       "skills/", name, ".py", "message", "from skills.", name,
                                       " import *"),
                             false);
}

/* A program that is refused, or does not come to its end, is a skill that cannot be imported. The
 * model reads what it would of any run. */
static json_t *on_tried(struct mcp_call *call, const struct run *run, const char *note)
{
    json_t *result = run->status == RUN_SUCCESS ? store_skill(call) : NULL;

    return result ? result : mcp_result(call, run, note);
}

static void save_skill(struct mcp_call *call)
{
    cleanup(buf_done) struct buf text = {0};
    struct mcp_program program = {
        .language = RUN_PYTHON,
        .note = "the skill was not saved: its code has to run to its end as it stands",
        .answer = on_tried,
    };
    struct error err = {0};

    if (!mcp_kept(call, &err) || skill_check_name(argument(call, "name"), &err) < 0 ||
        compose(call, &text, &err) < 0) {
        mcp_answer_error(call, &err);
        return;
    }
    program.code = buf_str(&text);
    program.len = text.len;
    mcp_run(call, &program);
}

/* --- reading --- */

static void list_skills(struct mcp_call *call)
{
    struct error err = {0};
    struct store *store = mcp_kept(call, &err);
    json_t *list = NULL;

    if (!store || skill_list(store, mcp_kept_owner(call), &list, &err) < 0)
        mcp_answer_error(call, &err);
    else
        mcp_answer_object(call, json_pack("{s:s, s:o}", "status", "success", "skills", list));
}

static json_t *load(struct mcp_call *call, struct error *err)
{
    struct store *store = mcp_kept(call, err);
    json_t *skill = NULL;

    if (!store ||
        skill_load(store, mcp_kept_owner(call), argument(call, "skill_name"), 0, &skill, err) < 0)
        return NULL;
    return skill;
}

static void show_skill(struct mcp_call *call)
{
    struct error err = {0};
    json_t *skill = load(call, &err);

    if (!skill) {
        mcp_answer_error(call, &err);
        return;
    }
    (void)json_object_del(skill, "code");
    (void)json_object_set_new(skill, "status", json_string("success"));
    (void)json_object_set_new(
        skill, "files",
        json_pack("[s+]", json_string_value(json_object_get(skill, "name")), ".py"));
    mcp_answer_object(call, skill);
}

static void show_file(struct mcp_call *call)
{
    const char *file = argument(call, "filename"), *name = argument(call, "skill_name");
    struct error err = {0};
    json_t *skill = load(call, &err);
    cleanup_free char *masked = NULL;
    size_t len = 0;

    if (skill &&
        (strncmp(file, name, strlen(name)) != 0 || strcmp(file + strlen(name), ".py") != 0))
        error_set(&err, E_NOT_FOUND, "the skill has one file: `%s.py`", name);
    if (skill && err.code == E_NONE) {
        const json_t *code = json_object_get(skill, "code");

        masked =
            mcp_mask(mcp_host_of(call), json_string_value(code), json_string_length(code), &len);
        if (!masked)
            error_set(&err, E_SYSTEM, "the answer could not be masked");
    }
    json_decref(skill);
    if (masked)
        mcp_call_answer(call, mcp_text_result(masked, len, false));
    else
        mcp_answer_error(call, &err);
}

/* clang-format off */
static const struct schema_field save_fields[] = {
    {"name", SCHEMA_STRING, .is_required = true, .max_len = STORE_NAME_MAX,
     .example = "\"clean_csv\"", .help = "of the module: small letters, digits, _"},
    {"code", SCHEMA_STRING, .is_required = true, .max_len = LIMIT_SKILL_BYTES,
     .example = "\"def f(x): return x\"", .help = "Python"},
    {"description", SCHEMA_STRING, .max_len = 4096, .example = "\"cleans tables\"",
     .help = "becomes its docstring"},
    {0},
};

static const struct schema_field no_fields[] = {
    {0},
};

#define SKILL_FIELD                                                                                \
    {"skill_name", SCHEMA_STRING, .is_required = true, .max_len = STORE_NAME_MAX,                  \
     .example = "\"clean_csv\"", .help = "its name"}

static const struct schema_field info_fields[] = {
    SKILL_FIELD,
    {0},
};

static const struct schema_field file_fields[] = {
    SKILL_FIELD,
    {"filename", SCHEMA_STRING, .is_required = true, .max_len = 256,
     .example = "\"clean_csv.py\"", .help = "one of its files"},
    {0},
};

const struct mcp_tool mcp_tool_skill_save = {
    .name = "save_reusable_skill",
    .title = "Save a skill",
    .description = "Save code for later programs, which import it: from skills.NAME import f. It "
                   "is run once, and stored if it runs.",
    .input = save_fields,
    .call = save_skill,
};

const struct mcp_tool mcp_tool_skill_list = {
    .name = "list_skills",
    .title = "Skills",
    .description = "The skills there are.",
    .input = no_fields,
    .hints = MCP_READ_ONLY,
    .call = list_skills,
};

const struct mcp_tool mcp_tool_skill_info = {
    .name = "get_skill_info",
    .title = "About a skill",
    .description = "A skill's description, versions and files.",
    .input = info_fields,
    .hints = MCP_READ_ONLY,
    .call = show_skill,
};

const struct mcp_tool mcp_tool_skill_file = {
    .name = "get_skill_file",
    .title = "A skill's code",
    .description = "One file of a skill.",
    .input = file_fields,
    .hints = MCP_READ_ONLY,
    .call = show_file,
};
/* clang-format on */
