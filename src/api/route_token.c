/* Adding and removing tokens over HTTP: for operators, and only from this machine, where the
 * tokens' file is. The file is changed by a worker: another process may hold it. */
#include <stdlib.h>
#include <string.h>

#include "admit/access.h"
#include "admit/tokens.h"
#include "api/api.h"
#include "api/worker.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/paths.h"
#include "store/store.h"

#define PATIENCE_MS 15000
#define PEER_SIZE   64

struct wish {
    const char *path, *name;
    struct rights rights;
};

struct waiting {
    struct api *api;
    struct request *request; /* NULL: the client has gone */
    int status;
};

/* --- in the worker --- */

static int work_add(const void *arg, json_t **ret_answer, struct error *err)
{
    const struct wish *wish = arg;
    char token[TOKEN_LEN + 1] = "";
    int r = tokens_add(wish->path, wish->name, &wish->rights, token, err);

    if (r == 0)
        *ret_answer = json_pack("{s:s, s:s}", "name", wish->name, "token", token);
    explicit_bzero(token, sizeof(token));
    return r;
}

static int work_remove(const void *arg, json_t **ret_answer, struct error *err)
{
    const struct wish *wish = arg;
    char keeper[TOKEN_KEEPER_SIZE];

    if (tokens_remove(wish->path, wish->name, keeper, err) < 0)
        return -1;
    *ret_answer = json_pack("{s:s}", "keeper", keeper);
    return 0;
}

/* --- in the server --- */

static void on_gone(struct request *request)
{
    struct waiting *w = request->user;

    w->request = NULL;
}

/* In the server: a worker, which is a fork of it, would wait for the locks that SQLite has noted as
 * the server's. Jobs go when the server reads the tokens again (durable_forget()). */
static int forget(const struct api *api, const json_t *answer, struct error *err)
{
    const char *keeper = json_string_value(json_object_get(answer, "keeper"));

    if (!keeper || !api->store || store_forget(api->store, keeper, err) == 0)
        return 0;
    return error_wrap(err, "the token is removed, its states and skills are not");
}

static void on_done(void *user, json_t *answer, struct error *err)
{
    struct waiting *w = user;
    struct request *request = w->request;
    int status = w->status;
    bool is_done = answer && forget(w->api, answer, err) == 0;

    w->api->n_token_changes--;
    auth_refresh(w->api->auth);
    free(w);
    if (!request)
        return;
    request->on_gone = NULL;
    if (!is_done)
        request_answer_error(request, err);
    else if (status == 204)
        request_answer_empty(request, status);
    else
        request_answer_json(request, status, json_incref(answer));
}

/* A request that went through a proxy comes from wherever it says, which may be a lie. */
static int check_place(const struct request *request, struct error *err)
{
    static const char *const forwarded[] = {"forwarded", "x-forwarded-for", "x-real-ip", "via"};
    char peer[PEER_SIZE];
    bool is_near;

    request_peer(request, peer, sizeof(peer));
    is_near = request->is_unix || strncmp(peer, "127.", 4) == 0 || strcmp(peer, "::/64") == 0;
    for (size_t i = 0; i < ARRAY_SIZE(forwarded); i++)
        is_near = is_near && !request_header(request, forwarded[i]).data;
    if (is_near)
        return 0;
    error_set(err, E_DENIED, "tokens are added and removed from the server's own machine only");
    return error_hint(err, "run `belljar token` there");
}

static char *tokens_path(const struct api *api, struct error *err)
{
    const char *path = api->config->tokens_file;
    char *copy;

    if (!auth_needs_token(api->auth)) {
        error_set(err, E_INVALID, "this server needs no tokens");
        error_hint(err, "start it without `--no-auth`");
        return NULL;
    }
    copy = *path ? strdup(path) : paths_state("tokens.toml", err);
    if (!copy && err->code == E_NONE)
        error_memory(err);
    return copy;
}

/* Recorded before it takes effect. A change that cannot be made is not recorded as if it had been.
 */
static int check_and_tell(const struct api *api, const struct wish *wish, bool is_new,
                          struct error *err)
{
    cleanup(tokens_done) struct tokens tokens = {0};

    if (tokens_load(wish->path, &tokens, err) < 0)
        return -1;
    if (is_new && tokens_check_new(&tokens, wish->name, err) < 0)
        return -1;
    if (!is_new && !tokens_find(&tokens, wish->name)) {
        if (strcmp(wish->name, TOKEN_FIRST) == 0) {
            error_set(err, E_NOT_FOUND, "the first token cannot be removed over HTTP");
            return error_hint(err, "it is a file: run `belljar token rm default`");
        }
        error_set(err, E_NOT_FOUND, "there is no token `%.80s`", wish->name);
        return error_hint(err, "GET /v1/tokens lists their names");
    }
    return access_token_changing(api->recorder, is_new ? "add" : "remove", wish->name, err);
}

static int start(struct request *request, const struct wish *wish, bool is_new, struct error *err)
{
    struct api *api = request->api;
    struct worker_task task = {.work = is_new ? work_add : work_remove,
                               .arg = wish,
                               .on_done = on_done,
                               .patience_ms = PATIENCE_MS,
                               .outlives_server = true,
                               .keeps_nothing = true,
                               .name = "the change of tokens",
                               .late_hint = "another process holds the tokens' file"};
    struct waiting *w;

    if (api->n_token_changes) {
        error_set(err, E_BUSY, "another change of tokens is in progress");
        return error_hint(err, "try again in a few seconds");
    }
    if (check_and_tell(api, wish, is_new, err) < 0)
        return -1;
    w = calloc(1, sizeof(*w));
    if (!w)
        return error_memory(err);
    *w = (struct waiting){.api = api, .request = request, .status = is_new ? 201 : 204};
    task.user = w;
    if (worker_start(api->loop, &task, err) < 0) {
        free(w);
        return -1;
    }
    api->n_token_changes++;
    request->user = w;
    request->on_gone = on_gone;
    return 0;
}

static int read_rights(const json_t *body, struct rights *rights, struct error *err)
{
    const json_t *limits = json_object_get(body, "limits"), *value;
    const char *key;

    rights_init(rights);
    json_object_foreach((json_t *)body, key, value)
    {
        if (strcmp(key, "name") != 0 && strcmp(key, "limits") != 0 &&
            rights_set_json(rights, key, value, err) < 0)
            return -1;
    }
    json_object_foreach((json_t *)limits, key, value)
    {
        if (!json_is_number(value)) {
            error_set(err, E_INVALID, "`limits.%.80s`: expected a number", key);
            return -1;
        }
        if (rights_set_json(rights, key, value, err) < 0)
            return error_wrap(err, "`limits`");
    }
    return 0;
}

/* A token for a profile that does not exist could run nothing. */
static int check_profiles(const struct api *api, const struct rights *rights, struct error *err)
{
    const struct profile *profile;

    for (size_t i = 0; i < rights->n_profiles; i++)
        if (profiles_get(api->profiles, rights->profiles[i], &profile, err) < 0)
            return error_wrap(err, "`profiles`");
    return 0;
}

static void change(struct request *request, struct wish *wish, bool is_new)
{
    cleanup_free char *path = NULL;
    struct error err = {0};

    if (check_place(request, &err) < 0) {
        api_refuse(request, "token", &err);
        return;
    }
    path = tokens_path(request->api, &err);
    wish->path = path;
    if (!path || (is_new && read_rights(request->json, &wish->rights, &err) < 0) ||
        (is_new && check_profiles(request->api, &wish->rights, &err) < 0) ||
        start(request, wish, is_new, &err) < 0)
        request_answer_error(request, &err);
}

static void add(struct request *request)
{
    struct wish wish = {.name = json_string_value(json_object_get(request->json, "name"))};

    change(request, &wish, true);
}

static void rm(struct request *request)
{
    struct wish wish = {.name = request->params[0]};

    change(request, &wish, false);
}

/* clang-format off */
static const struct schema_field add_fields[] = {
    {"name", SCHEMA_STRING, .is_required = true, .max_len = 80, .help = "up to 32 letters, digits, `_` and `-`"},
    {"operator", SCHEMA_BOOLEAN, .help = "may see metrics, settings, tokens and the audit trail"},
    {"grants", SCHEMA_BOOLEAN, .help = "may use the directories that the settings allow"},
    {"profiles", SCHEMA_STRINGS, .max_len = RIGHTS_PROFILES_MAX, .help = "only these profiles (default: all)"},
    {"limits", SCHEMA_OBJECT, .help = "limits of the token by name, as GET /v1/tokens has them"},
    {0},
};

const struct route api_token_routes[] = {
    {"POST", "/v1/tokens", add, .body = add_fields, .max_body = 16 * KIB, .access = ROUTE_OPERATOR, .answers = "NewToken",
     .status = 201, .tag = "meta", .summary = "add a token, which is shown once; for operators, from the server's own machine"},
    {"DELETE", "/v1/tokens/{name}", rm, .access = ROUTE_OPERATOR, .status = 204, .tag = "meta",
     .summary = "remove a token with all that it opened; for operators, from the server's own machine"},
    {0},
};
/* clang-format on */
