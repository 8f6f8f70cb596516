/* belljar state: work that goes on over several runs, as its owner sees it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "admit/tokens.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "cli/cmd.h"
#include "cli/stored.h"
#include "store/saved_state.h"

/* A state in escapes; and as deep as one that comes over HTTP or MCP may be. */
#define STATE_TEXT_MAX (8 * LIMIT_STATE_BYTES)
#define STATE_DEPTH    32

static int help(void)
{
    (void)printf("usage: belljar state list [--json]\n"
                 "       belljar state create NAME [DESCRIPTION]\n"
                 "       belljar state save NAME FILE|-\n"
                 "       belljar state show NAME[@VERSION]…\n"
                 "       belljar state history NAME… [--json]\n"
                 "       belljar state rm NAME…\n\n"
                 "Manage the refactoring sessions that you and your agents have saved. Each is a\n"
                 "JSON object with its earlier versions. Secrets in the output are masked.\n\n"
                 "  --json         print JSON\n\n"
                 "example:\n"
                 "  belljar state show rename-api\n");
    return 0;
}

static int list(struct stored_command *command, char **names, struct error *err)
{
    json_t *works = NULL;
    int r = saved_state_list(command->store, TOKEN_FIRST, &works, err);

    (void)names;
    if (r == 0)
        r = stored_print_list(command, works, err);
    json_decref(works);
    return r;
}

/* "rename-api@3" is its third version. A name of a state has no @. */
static int split_name(const char *text, char name[STORE_NAME_MAX + 2], int64_t *ret_version,
                      struct error *err)
{
    size_t len = strcspn(text, "@");
    char *end = NULL;
    long long version = text[len] ? strtoll(text + len + 1, &end, 10) : 0;

    if (end && (*end || end == text + len + 1 || version < 1))
        return error_set(err, E_INVALID, "`%s`: expected a version number after the @", text);
    (void)snprintf(name, STORE_NAME_MAX + 2, "%.*s", (int)len, text); /* too long stays so */
    *ret_version = version;
    return 0;
}

static int show(struct stored_command *command, char **names, struct error *err)
{
    int r = 0;

    for (; *names && r == 0; names++) {
        char name[STORE_NAME_MAX + 2];
        json_t *work = NULL;
        int64_t version = 0;

        r = split_name(*names, name, &version, err);
        if (r == 0)
            r = saved_state_load(command->store, TOKEN_FIRST, name, version, &work, err);
        if (r == 0)
            r = stored_print(command, work, err);
        json_decref(work);
    }
    return r;
}

static int history(struct stored_command *command, char **names, struct error *err)
{
    int r = 0;

    for (; *names && r == 0; names++) {
        json_t *work = NULL;

        r = saved_state_load(command->store, TOKEN_FIRST, *names, 0, &work, err);
        if (r == 0)
            r = stored_print_versions(command, *names, json_object_get(work, "history"), err);
        json_decref(work);
    }
    return r;
}

static int create(struct stored_command *command, char **names, struct error *err)
{
    bool is_new = false;

    if (names[1] && names[2])
        return error_set(err, E_INVALID, "`belljar state create` takes a name and a description");
    if (saved_state_create(command->store, TOKEN_FIRST, names[0], names[1], &is_new, err) < 0)
        return -1;
    (void)printf("%s: %s\n", names[0], is_new ? "created" : "already exists, unchanged");
    return 0;
}

/* A JSON object, in the one form that is stored. */
static int read_state(const char *path, struct buf *out, struct error *err)
{
    static const struct json_text_limits limits = {.bytes = STATE_TEXT_MAX, .depth = STATE_DEPTH};
    bool is_stdin = strcmp(path, "-") == 0;
    cleanup_close int fd = is_stdin ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    cleanup(buf_done) struct buf text;
    json_t *state = NULL;
    int r;

    buf_init(&text, STATE_TEXT_MAX);
    if (!is_stdin && fd < 0 && errno == ENOENT)
        return error_set(err, E_NOT_FOUND, "%s: there is no such file", path);
    if (!is_stdin && fd < 0)
        return error_errno(err, "open `%s`", path);
    if (buf_read_fd(&text, is_stdin ? STDIN_FILENO : fd, err) < 0 ||
        json_text_load(buf_str(&text), text.len, &limits, &state, err) < 0)
        return error_wrap(err, "%s", path);
    if (json_is_object(state)) {
        r = json_text_dump(state, JSON_TEXT_COMPACT, out, err);
    } else {
        error_set(err, E_INVALID, "%s: a state is a JSON object", path);
        r = error_hint(err, "as in {\"done\": [\"a.py\"]}");
    }
    json_decref(state);
    return r;
}

static int save(struct stored_command *command, char **names, struct error *err)
{
    cleanup(buf_done) struct buf text;
    int64_t version = 0;

    buf_init(&text, STATE_TEXT_MAX);
    if (!names[1] || names[2])
        return error_set(err, E_INVALID, "`belljar state save` takes a name and a file, or `-`");
    if (read_state(names[1], &text, err) < 0 ||
        saved_state_save(command->store, TOKEN_FIRST, names[0],
                         (struct span){buf_str(&text), text.len}, -1, &version, err) < 0)
        return -1;
    (void)printf("%s: version %lld\n", names[0], (long long)version);
    return 0;
}

static int rm(struct stored_command *command, char **names, struct error *err)
{
    int r = 0;

    for (; *names && r == 0; names++)
        r = saved_state_delete(command->store, TOKEN_FIRST, *names, err);
    return r;
}

int cmd_state(int argc, char **argv)
{
    static const struct stored_action actions[] = {
        {"list", list, false}, {"create", create, true},   {"save", save, true},
        {"show", show, true},  {"history", history, true}, {"rm", rm, true},
    };

    return stored_run(argc, argv, help, actions, ARRAY_SIZE(actions));
}
