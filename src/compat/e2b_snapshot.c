/* Snapshots: states of a sandbox with which others begin. Each is a template for its owner. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "compat/e2b_internal.h"

#define NAME_MAX_LEN 64
#define PAGE_MAX     100

/* A request that waits for its snapshot. */
struct taking {
    struct request *request; /* NULL: the client has gone */
    bool is_named;
    char name[NAME_MAX_LEN + 1];
};

static json_t *snapshot_json(const char *name, bool is_named)
{
    json_t *names = json_array();

    if (is_named)
        (void)json_array_append_new(names, json_string(name));
    return json_pack("{s:s, s:o}", "snapshotID", name, "names", names);
}

static void on_gone(struct request *request)
{
    struct taking *t = request->user;

    t->request = NULL;
}

static void on_copied(void *user, const struct session_copied *result)
{
    struct taking *t = user;
    struct request *request = t->request;
    struct error err = {0};

    if (request) {
        request->on_gone = NULL;
        if (result->err->code == E_NONE) {
            request_answer_json(request, 201, snapshot_json(t->name, t->is_named));
        } else {
            error_copy(&err, result->err);
            request_answer_error(request, &err);
        }
    }
    free(t);
}

static int read_name(const json_t *body, struct taking *t, struct error *err)
{
    const char *name = json_get_text(body, "name");
    size_t len = strlen(name);
    char id[E2B_ID_LEN + 1];

    t->is_named = len > 0;
    if (len > NAME_MAX_LEN)
        return error_set(err, E_INVALID, "`name`: more than %d characters", NAME_MAX_LEN);
    if (!len && e2b_make_id(id) < 0)
        return error_memory(err);
    memcpy(t->name, len ? name : id, (len ? len : E2B_ID_LEN) + 1);
    return 0;
}

static int begin(struct request *request, struct e2b_sandbox *s, const json_t *body,
                 struct error *err)
{
    struct taking *t = calloc(1, sizeof(*t));

    if (!t)
        return error_memory(err);
    t->request = request;
    request->user = t;
    request->on_gone = on_gone;
    if (read_name(body, t, err) == 0 &&
        admission_check_session(request->caller, s->session, err) == 0 &&
        session_snapshot(s->session, t->name, on_copied, t, err) == 0)
        return 0;
    request->on_gone = NULL;
    free(t);
    return -1;
}

void e2b_make_snapshot(struct request *request)
{
    struct e2b_sandbox *s = e2b_sandbox_in_path(request);
    json_t *body = s ? e2b_body(request) : NULL;
    struct error err = {0};

    if (body && begin(request, s, body, &err) < 0)
        api_refuse(request, "session", &err);
}

/* By the id of the sandbox that it was taken of; "": any. */
static bool is_of(const struct api *api, const struct request *request,
                  const struct snapshot_info *info, const char *sandbox)
{
    const struct e2b_sandbox *s =
        *sandbox ? e2b_sandbox_find(api->e2b, sandbox, strlen(sandbox), request->owner) : NULL;
    struct session_info session;

    if (!*sandbox)
        return true;
    if (!s)
        return false;
    session_info(s->session, &session);
    return strcmp(session.id, info->source) == 0;
}

void e2b_list_snapshots(struct request *request)
{
    const struct api *api = request->api;
    const json_t *limit = json_object_get(request->query, "limit");
    size_t most = limit ? (size_t)json_integer_value(limit) : PAGE_MAX;
    size_t i = strtoul(json_get_text(request->query, "nextToken"), NULL, 10);
    const char *sandbox = json_get_text(request->query, "sandboxID");
    const char *name = json_get_text(request->query, "name");
    json_t *list = json_array();
    struct snapshot_info info;
    char header[64] = "";

    for (; sessions_snapshot(api->sessions, request->owner, i, &info); i++) {
        if (!info.is_usable || !is_of(api, request, &info, sandbox) ||
            (*name && strcmp(name, info.name) != 0))
            continue;
        if (json_array_size(list) == most) {
            (void)snprintf(header, sizeof(header), "X-Next-Token: %zu\r\n", i);
            break;
        }
        (void)json_array_append_new(list, snapshot_json(info.name, true));
    }
    request_answer_json_with(request, 200, *header ? header : NULL, list);
}

void e2b_forget_snapshot(struct request *request)
{
    const struct api *api = request->api;
    struct error err = {0};

    if (sessions_forget_snapshot(api->sessions, request->owner, request->params[0], &err) < 0)
        request_answer_error(request, &err);
    else
        request_answer_empty(request, 204);
}
