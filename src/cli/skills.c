/* belljar skills: modules and folders that programs import as `skills.NAME`. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "admit/tokens.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "cli/cmd.h"
#include "cli/skills.h"
#include "cli/stored.h"
#include "store/skill.h"
#include "store/unzip.h"

static int help(void)
{
    (void)printf("usage: belljar skills list [--json]\n"
                 "       belljar skills add [--profile P] FILE.py|FOLDER|FILE.zip…\n"
                 "       belljar skills show NAME… [--json]\n"
                 "       belljar skills read NAME FILE\n"
                 "       belljar skills versions NAME… [--json]\n"
                 "       belljar skills undo NAME…\n"
                 "       belljar skills rm NAME…\n\n"
                 "Manage the skills that programs import as `skills.NAME`: single modules, or\n"
                 "folders with a SKILL.md (a ZIP file holds one folder). `add` refuses what the\n"
                 "profile refuses: it runs a module once in a sandbox, and checks a folder's\n"
                 "Python without running it.\n"
                 "`undo` removes the last version. Secrets in the output are masked.\n\n"
                 "  --json         print JSON\n"
                 "  --profile P    profile to check against (standard)\n\n"
                 "example:\n"
                 "  belljar skills add clean_csv.py ./csv-profile\n");
    return 0;
}

/* --- looking --- */

static int list(struct stored_command *command, char **names, struct error *err)
{
    json_t *skills = NULL;
    int r = skill_list(command->store, TOKEN_FIRST, &skills, err);

    (void)names;
    if (r == 0)
        r = stored_print_list(command, skills, err);
    json_decref(skills);
    return r;
}

/* The part that a reader wants first: a folder's SKILL.md, the code of a module. */
static int show_text(struct stored_command *command, const char *name, struct error *err)
{
    cleanup(skill_bundle_done) struct skill_bundle folder = {0};
    const struct skill_bundle_file *file;

    if (skill_open(command->store, TOKEN_FIRST, name, 0, &folder, err) < 0)
        return -1;
    file = skill_bundle_find(&folder, SKILL_BUNDLE_HEAD);
    file = file ? file : folder.files;
    return stored_print_text(command, file->data, file->len, err);
}

static int show(struct stored_command *command, char **names, struct error *err)
{
    int r = 0;

    for (; *names && r == 0; names++) {
        json_t *skill = NULL;

        if (!command->is_json) {
            r = show_text(command, *names, err);
            continue;
        }
        r = skill_load(command->store, TOKEN_FIRST, *names, 0, &skill, err);
        if (r == 0)
            r = stored_print(command, skill, err);
        json_decref(skill);
    }
    return r;
}

static int read_file(struct stored_command *command, char **names, struct error *err)
{
    cleanup(skill_bundle_done) struct skill_bundle folder = {0};
    const struct skill_bundle_file *file;

    if (!names[1] || names[2])
        return error_set(err, E_INVALID,
                         "`belljar skills read` takes the name of a skill and the "
                         "path of one of its files");
    if (skill_open(command->store, TOKEN_FIRST, names[0], 0, &folder, err) < 0)
        return -1;
    file = skill_bundle_find(&folder, names[1]);
    if (!file) {
        error_set(err, E_NOT_FOUND, "`%s` has no file `%s`", names[0], names[1]);
        return error_hint(err, "`belljar skills show --json %s` lists them", names[0]);
    }
    return stored_print_text(command, file->data, file->len, err);
}

static int versions(struct stored_command *command, char **names, struct error *err)
{
    int r = 0;

    for (; *names && r == 0; names++) {
        json_t *skill = NULL;

        r = skill_load(command->store, TOKEN_FIRST, *names, 0, &skill, err);
        if (r == 0)
            r = stored_print_versions(command, *names, json_object_get(skill, "versions"), err);
        json_decref(skill);
    }
    return r;
}

/* --- changing --- */

static int rm(struct stored_command *command, char **names, struct error *err)
{
    int r = 0;

    for (; *names && r == 0; names++)
        r = skill_delete(command->store, TOKEN_FIRST, *names, err);
    return r;
}

static int undo(struct stored_command *command, char **names, struct error *err)
{
    int64_t version = 0;
    int r = 0;

    for (; *names && r == 0; names++) {
        r = skill_undo(command->store, TOKEN_FIRST, *names, &version, err);
        if (r == 0)
            (void)printf("%s: version %lld\n", *names, (long long)version);
    }
    return r;
}

/* "lib/clean_csv.py" is clean_csv. */
static int name_of(const char *path, char name[STORE_NAME_MAX + 1], struct error *err)
{
    const char *base = strrchr(path, '/');
    size_t len;

    base = base ? base + 1 : path;
    len = strlen(base);
    if (len <= 3 || strcmp(base + len - 3, ".py") != 0 || len - 3 > STORE_NAME_MAX) {
        error_set(err, E_INVALID, "`%s` is not a skill", path);
        return error_hint(err, "a skill is a module, NAME.py, a folder with a SKILL.md, or a ZIP "
                               "file of one");
    }
    (void)snprintf(name, STORE_NAME_MAX + 1, "%.*s", (int)(len - 3), base);
    return skill_check_name(name, err);
}

static int add_module(struct stored_command *command, const char *path, struct span code,
                      struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(LIMIT_SKILL_BYTES);
    char name[STORE_NAME_MAX + 1];
    int64_t version = 0;

    if (name_of(path, name, err) < 0 || skill_check_free(command->store, name, err) < 0 ||
        skill_compose(code, NULL, &text, err) < 0)
        return -1;
    code = (struct span){buf_str(&text), text.len};
    if (skills_try(command, code, false, err) < 0 ||
        skill_save(command->store, TOKEN_FIRST, name, code, NULL, &version, err) < 0)
        return -1;
    (void)printf("%s: version %lld\n", name, (long long)version);
    return 0;
}

static int add_folder(struct stored_command *command, struct skill_bundle *folder,
                      struct error *err)
{
    cleanup(buf_done) struct buf sources = BUF_OF(LIMIT_CODE_BYTES);
    int64_t version = 0;

    if (skill_bundle_finish(folder, err) < 0 ||
        skill_check_free(command->store, folder->name, err) < 0 ||
        skill_bundle_sources(folder, &sources, err) < 0)
        return -1;
    if ((sources.len &&
         skills_try(command, (struct span){buf_str(&sources), sources.len}, true, err) < 0) ||
        skill_save_folder(command->store, TOKEN_FIRST, folder, &version, err) < 0)
        return -1;
    (void)printf("%s: version %lld\n", folder->name, (long long)version);
    return 0;
}

static int add_one(struct stored_command *command, const char *path, struct error *err)
{
    cleanup(skill_bundle_done) struct skill_bundle folder = {0};
    cleanup(buf_done) struct buf file = {0};
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    struct span bytes;

    if (fd < 0 && errno == ENOENT)
        return error_set(err, E_NOT_FOUND, "there is no such file");
    if (fd < 0 || fstat(fd, &st) < 0)
        return error_errno(err, "open it");
    if (S_ISDIR(st.st_mode))
        return skill_bundle_read(&folder, path, err) < 0 ? -1 : add_folder(command, &folder, err);
    buf_init(&file, LIMIT_FOLDER_BYTES);
    if (buf_read_fd(&file, fd, err) < 0)
        return -1;
    bytes = (struct span){buf_str(&file), file.len};
    if (!unzip_is_zip(bytes))
        return add_module(command, path, bytes, err);
    return unzip(bytes, &folder, err) < 0 ? -1 : add_folder(command, &folder, err);
}

static int add(struct stored_command *command, char **names, struct error *err)
{
    for (; *names; names++)
        if (add_one(command, *names, err) < 0)
            return error_wrap(err, "%s", *names);
    return 0;
}

int cmd_skills(int argc, char **argv)
{
    static const struct stored_action actions[] = {
        {"list", list, false},     {"add", add, true, true},     {"show", show, true},
        {"read", read_file, true}, {"versions", versions, true}, {"undo", undo, true},
        {"rm", rm, true},
    };

    return stored_run(argc, argv, help, actions, ARRAY_SIZE(actions));
}
