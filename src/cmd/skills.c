/* belljar skills: modules that programs import as `skills.NAME`. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "cmd/cmd.h"
#include "cmd/kept.h"
#include "front/terminal.h"
#include "gate/tokens.h"
#include "state/skill.h"

static int help(void)
{
    (void)printf("usage: belljar skills list [--json]\n"
                 "       belljar skills add FILE.py…\n"
                 "       belljar skills show NAME…\n"
                 "       belljar skills undo NAME…\n"
                 "       belljar skills rm NAME…\n\n"
                 "Look after the skills that programs import as `skills.NAME`. A file is run once, "
                 "sealed,\n"
                 "before it is added; `undo` takes the last version back.\n\n"
                 "  --json         for machines\n\n"
                 "example:\n"
                 "  belljar skills add clean_csv.py\n");
    return 0;
}

static int list(struct store *store, char **names, bool is_json, struct error *err)
{
    json_t *skills = NULL;
    int r = skill_list(store, TOKEN_FIRST, &skills, err);

    (void)names;
    if (r == 0 && is_json)
        r = kept_print(skills, err);
    else if (r == 0)
        kept_print_list(skills);
    json_decref(skills);
    return r;
}

/* Bytes as they are, for files and pipes; on a terminal nothing of it moves the cursor. */
static int print_code(const json_t *code, struct error *err)
{
    const char *data = json_string_value(code);
    size_t len = json_string_length(code);
    cleanup(buf_done) struct buf out;
    struct terminal terminal;

    buf_init(&out, 16 * LIMIT_SKILL_BYTES);
    if (isatty(STDOUT_FILENO)) {
        terminal_begin(&terminal, false);
        if (terminal_feed(&terminal, data, len, &out, err) < 0 ||
            terminal_finish(&terminal, &out, err) < 0)
            return -1;
        data = buf_str(&out);
        len = out.len;
    }
    return fwrite(data, 1, len, stdout) == len ? 0 : error_errno(err, "write the skill");
}

static int show(struct store *store, char **names, bool is_json, struct error *err)
{
    int r = 0;

    for (; *names && r == 0; names++) {
        json_t *skill = NULL;

        r = skill_load(store, TOKEN_FIRST, *names, 0, &skill, err);
        if (r == 0)
            r = is_json ? kept_print(skill, err) : print_code(json_object_get(skill, "code"), err);
        json_decref(skill);
    }
    return r;
}

static int rm(struct store *store, char **names, bool is_json, struct error *err)
{
    int r = 0;

    (void)is_json;
    for (; *names && r == 0; names++)
        r = skill_delete(store, TOKEN_FIRST, *names, err);
    return r;
}

static int undo(struct store *store, char **names, bool is_json, struct error *err)
{
    int64_t version = 0;
    int r = 0;

    (void)is_json;
    for (; *names && r == 0; names++) {
        r = skill_undo(store, TOKEN_FIRST, *names, &version, err);
        if (r == 0)
            (void)printf("%s: version %lld\n", *names, (long long)version);
    }
    return r;
}

/* --- adding --- */

/* The code as a program, by this very command: what the profile refuses or does not run is not
 * stored. Its text comes through a pipe, so that what ran is what is stored. */
static int try_code(struct span code, struct error *err)
{
    char *const argv[] = {(char *)"belljar", (char *)"run", (char *)"-", NULL};
    posix_spawn_file_actions_t actions;
    int ends[2], status = -1, r;
    size_t at = 0;
    ssize_t n = 0;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return error_errno(err, "make a pipe");
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
    (void)posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    r = posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(ends[0]);
    while (r == 0 && at < code.len && (n = write(ends[1], code.data + at, code.len - at)) > 0)
        at += (size_t)n;
    (void)close(ends[1]);
    if (r != 0) {
        errno = r;
        return error_errno(err, "start `belljar run`");
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (status == 0 && at == code.len)
        return 0;
    error_set(err, E_DENIED, "the code did not run to its end, and was not stored");
    return error_hint(err, "a skill defines things, and does nothing else when it is run");
}

/* "lib/clean_csv.py" is clean_csv. */
static int name_of(const char *path, char name[STORE_NAME_MAX + 1], struct error *err)
{
    const char *base = strrchr(path, '/');
    size_t len;

    base = base ? base + 1 : path;
    len = strlen(base);
    if (len <= 3 || strcmp(base + len - 3, ".py") != 0 || len - 3 > STORE_NAME_MAX) {
        error_set(err, E_INVALID, "`%s` is no file of Python", path);
        return error_hint(err, "a skill is one module: NAME.py");
    }
    (void)snprintf(name, STORE_NAME_MAX + 1, "%.*s", (int)(len - 3), base);
    return skill_check_name(name, err);
}

static int add_file(struct store *store, const char *path, struct error *err)
{
    cleanup_close int fd = -1;
    cleanup(buf_done) struct buf file = {0}, text = {0};
    char name[STORE_NAME_MAX + 1];
    int64_t version = 0;
    struct span code;

    buf_init(&file, LIMIT_SKILL_BYTES);
    buf_init(&text, LIMIT_SKILL_BYTES);
    if (name_of(path, name, err) < 0)
        return -1;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return error_errno(err, "open `%s`", path);
    if (buf_read_fd(&file, fd, err) < 0 ||
        skill_compose((struct span){buf_str(&file), file.len}, NULL, &text, err) < 0)
        return -1;
    code = (struct span){buf_str(&text), text.len};
    if (try_code(code, err) < 0 ||
        skill_save(store, TOKEN_FIRST, name, code, NULL, &version, err) < 0)
        return -1;
    (void)printf("%s: version %lld\n", name, (long long)version);
    return 0;
}

static int add(struct store *store, char **names, bool is_json, struct error *err)
{
    (void)is_json;
    for (; *names; names++)
        if (add_file(store, *names, err) < 0)
            return error_wrap(err, "%s", *names);
    return 0;
}

int cmd_skills(int argc, char **argv)
{
    static const struct kept_action actions[] = {
        {"list", list, false},
        {"add",  add,  true },
        {"show", show, true },
        {"undo", undo, true },
        {"rm",   rm,   true },
    };

    return kept_run(argc, argv, help, actions, ARRAY_SIZE(actions));
}
