/* Skills: code that is saved once and imported by later programs. */
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/utf8.h"
#include "mcp/tools.h"
#include "store/skill.h"

/* The docstring is escaped, character by character. */
#define TEXT_MAX (LIMIT_SKILL_BYTES + 16 * KIB)

/* A line for each skill there can be. */
#define LIST_MAX (2 * MIB)

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

/* A program that is refused, or does not come to its end, is a skill that cannot be imported. The
 * model reads what it would of any run. */
static bool on_tried(struct mcp_call *call, const struct run *run)
{
    if (run->result.status != RUN_SUCCESS)
        return false;
    mcp_answer_stored(call, stored_skill_save);
    return true;
}

static void save_skill(struct mcp_call *call)
{
    cleanup(buf_done) struct buf text = {0};
    struct mcp_program program = {
        .language = RUN_PYTHON,
        .note = "the skill was not saved: its code must run to its end",
        .answer = mcp_result,
        .settle = on_tried,
    };
    struct error err = {0};

    if (!mcp_store(call, &err) || skill_check_name(argument(call, "name"), &err) < 0 ||
        skill_check_free(mcp_store(call, &err), argument(call, "name"), &err) < 0 ||
        compose(call, &text, &err) < 0) {
        mcp_answer_error(call, &err);
        return;
    }
    program.code = buf_str(&text);
    program.len = text.len;
    mcp_run(call, &program);
}

/* --- reading --- */

/* A model reads the text, a program reads the object; both are masked. Takes the object. */
static void answer(struct mcp_call *call, const struct buf *text, json_t *object)
{
    cleanup_free char *masked = NULL;
    json_t *result = NULL;
    struct error err = {0};
    size_t len = 0;

    masked = mcp_mask(mcp_host_of(call), buf_str(text), text->len, &len);
    if (masked)
        result = mcp_object_result(call, json_incref(object), false);
    json_decref(object);
    if (!result) {
        error_set(&err, E_SYSTEM, "the answer could not be masked");
        mcp_answer_error(call, &err);
        return;
    }
    (void)json_object_set_new(
        result, "content",
        json_pack("[{s:s, s:o}]", "type", "text", "text", json_text_string(masked, len)));
    mcp_call_answer(call, result);
}

static int add_kind(const json_t *skills, const char *kind, const char *title, struct buf *text)
{
    const json_t *skill;
    bool is_first = true;
    size_t i;

    json_array_foreach(skills, i, skill)
    {
        if (strcmp(json_get_text(skill, "kind"), kind) != 0)
            continue;
        if (is_first && buf_printf(text, NULL, "%s%s\n", text->len ? "\n" : "", title) < 0)
            return -1;
        is_first = false;
        if (buf_printf(text, NULL, "- %s: %s\n", json_get_text(skill, "name"),
                       json_get_text(skill, "description")) < 0)
            return -1;
    }
    return 0;
}

static void list_skills(struct mcp_call *call)
{
    cleanup(buf_done) struct buf text = BUF_OF(LIST_MAX);
    struct error err = {0};
    struct store *store = mcp_store(call, &err);
    json_t *list = NULL;

    if (!store || skill_list(store, mcp_store_owner(call), &list, &err) < 0) {
        mcp_answer_error(call, &err);
        return;
    }
    (void)add_kind(list, "public", "Public skills:", &text);
    (void)add_kind(list, "user", "User skills:", &text);
    if (!text.len)
        (void)buf_add_str(&text, "There are no skills.\n", NULL);
    answer(call, &text, json_pack("{s:s, s:o}", "status", "success", "skills", list));
}

/* The path for programs, and the skill's own description. */
static int add_info(const json_t *skill, const json_t *files, struct buf *text)
{
    const char *module = json_get_text(skill, "module"),
               *words = json_get_text(skill, "instructions");
    const json_t *file;
    size_t i;

    if (buf_printf(text, NULL,
                   "Skill: %s\nKind: %s\nLocation: /workspace/skills/%s%s\nImport: %s\n"
                   "Files:",
                   json_get_text(skill, "name"), json_get_text(skill, "kind"),
                   module + strlen("skills."), *words ? "" : ".py", module) < 0)
        return -1;
    json_array_foreach(files, i, file)
    {
        if (buf_printf(text, NULL, " %s", json_string_value(file)) < 0)
            return -1;
    }
    if (buf_add_str(text, "\n\n", NULL) < 0)
        return -1;
    if (*words)
        return skill_bundle_rewrite(json_get_text(skill, "name"),
                                    (struct span){words, strlen(words)}, text, NULL);
    return buf_printf(text, NULL, "%s\n", json_get_text(skill, "description"));
}

static json_t *names_of(const json_t *files)
{
    json_t *names = json_array();
    const json_t *file;
    size_t i;

    json_array_foreach(files, i, file)
    {
        (void)json_array_append(names, json_object_get(file, "path"));
    }
    return names;
}

static void show_skill(struct mcp_call *call)
{
    cleanup(buf_done) struct buf text = BUF_OF(2 * LIMIT_FOLDER_BYTES);
    struct error err = {0};
    struct store *store = mcp_store(call, &err);
    json_t *skill = NULL, *files;

    if (!store || skill_load(store, mcp_store_owner(call), argument(call, "skill_name"), 0, &skill,
                             &err) < 0) {
        mcp_answer_error(call, &err);
        return;
    }
    files = names_of(json_object_get(skill, "files"));
    (void)add_info(skill, files, &text);
    (void)json_object_set_new(skill, "files", files);
    (void)json_object_del(skill, "code");
    (void)json_object_del(skill, "instructions"); /* the text has them */
    (void)json_object_set_new(skill, "status", json_string("success"));
    answer(call, &text, skill);
}

/* As a program finds it in its workspace. */
static int read_text(const struct skill_bundle *folder, const struct skill_bundle_file *file,
                     struct buf *text, struct error *err)
{
    const struct span whole = {file->data, file->len};

    if (utf8_valid(file->data, file->len) != file->len || memchr(file->data, '\0', file->len)) {
        error_set(err, E_UNSUPPORTED, "the file is not text");
        return error_hint(err, "a program that names the skill has it in /workspace/skills");
    }
    return folder->description ? skill_bundle_rewrite(folder->name, whole, text, err)
                               : buf_add(text, whole.data, whole.len, err);
}

static int find_text(struct mcp_call *call, struct buf *text, struct error *err)
{
    const char *name = argument(call, "skill_name"), *path = argument(call, "filename");
    cleanup(skill_bundle_done) struct skill_bundle folder = {0};
    struct store *store = mcp_store(call, err);
    const struct skill_bundle_file *file;

    if (!store || skill_open(store, mcp_store_owner(call), name, 0, &folder, err) < 0)
        return -1;
    file = skill_bundle_find(&folder, path);
    if (file)
        return read_text(&folder, file, text, err);
    error_set(err, E_NOT_FOUND, "no such file in the skill");
    return error_hint(err, "get_skill_info names its files");
}

static void show_file(struct mcp_call *call)
{
    cleanup(buf_done) struct buf text = BUF_OF(2 * LIMIT_FOLDER_BYTES);
    cleanup_free char *masked = NULL;
    struct error err = {0};
    size_t len = 0;

    if (find_text(call, &text, &err) == 0) {
        masked = mcp_mask(mcp_host_of(call), buf_str(&text), text.len, &len);
        if (!masked)
            error_set(&err, E_SYSTEM, "the answer could not be masked");
    }
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
     .example = "\"scripts/run.py\"", .help = "one of its files"},
    {0},
};

const struct mcp_tool mcp_tool_skill_save = {
    .name = "save_reusable_skill",
    .title = "Save a skill",
    .description = "Save code that later programs import: from skills.NAME import f. It "
                   "is run once, and stored if it runs.",
    .input = save_fields,
    .call = save_skill,
};

const struct mcp_tool mcp_tool_skill_list = {
    .name = "list_skills",
    .title = "Skills",
    .description = "Skills that programs can import or run.",
    .input = no_fields,
    .hints = MCP_READ_ONLY,
    .call = list_skills,
};

const struct mcp_tool mcp_tool_skill_info = {
    .name = "get_skill_info",
    .title = "About a skill",
    .description = "How to use a skill: its SKILL.md, files and versions.",
    .input = info_fields,
    .hints = MCP_READ_ONLY,
    .call = show_skill,
};

const struct mcp_tool mcp_tool_skill_file = {
    .name = "get_skill_file",
    .title = "A skill's file",
    .description = "One file of a skill.",
    .input = file_fields,
    .hints = MCP_READ_ONLY,
    .call = show_file,
};
/* clang-format on */
