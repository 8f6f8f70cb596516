#include "api/trail_reader.h"

#include <stdlib.h>
#include <string.h>

#include "api/rights.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/paths.h"

#define READERS_MAX 4 /* of all callers, */
#define OWN_MAX     2 /* and of one */

/* --- the wish --- */

void trail_wish_done(struct trail_wish *wish)
{
    free(wish->dir);
}

int trail_wish_open(const struct api *api, struct trail_wish *wish, struct error *err)
{
    const char *dir = api->config->trail_dir;

    if (!api->recorder) {
        error_set(err, E_NOT_FOUND, "this server keeps no audit trail");
        return error_hint(err, "the operator has switched it off with `trail`");
    }
    wish->trail_dir = dir;
    wish->dir = *dir ? strdup(dir) : paths_state("trail", err);
    if (wish->dir)
        return 0;
    return err->code == E_NONE ? error_memory(err) : -1;
}

static uint64_t number(const struct request *request, const char *name)
{
    return (uint64_t)json_integer_value(json_object_get(request->query, name));
}

static int read_time(const struct request *request, const char *name, char time[WHEN_SIZE],
                     const char **ret_time, struct error *err)
{
    const char *text = request_query(request, name);

    if (!text)
        return 0;
    if (audit_time(text, time, err) < 0)
        return error_wrap(err, "`%s`", name);
    *ret_time = time;
    return 0;
}

int trail_wish_read(const struct request *request, struct trail_wish *wish, struct error *err)
{
    struct index_filter *filter = &wish->filter;

    filter->owner = request_query(request, "owner");
    filter->session = request_query(request, "session");
    filter->text = request_query(request, "text");
    filter->after = number(request, "after");
    filter->before = number(request, "before");
    filter->limit = number(request, "limit");
    if (!filter->limit)
        filter->limit = TRAIL_LIST_DEFAULT;
    if (read_time(request, "since", wish->since, &filter->since, err) < 0)
        return -1;
    return read_time(request, "until", wish->until, &filter->until, err);
}

int trail_wish_restrict(const struct request *request, struct trail_wish *wish, struct error *err)
{
    const struct caller *caller = request->caller;
    struct index_filter *filter = &wish->filter;

    if (api_read_all(request, &wish->is_of_all, err) < 0)
        return -1;
    if (!wish->is_of_all && !filter->owner)
        filter->owner = caller->name;
    if (caller->rights.is_operator)
        return 0;
    if (!filter->owner || strcmp(filter->owner, caller->name) != 0) {
        error_set(err, E_DENIED, "this token is not an operator's, and sees only its own runs");
        return error_hint(err, "leave out `owner`");
    }
    if (!filter->since || strcmp(filter->since, caller->known_since) < 0)
        filter->since = caller->known_since;
    return 0;
}

int trail_check_node(const struct request *request, struct error *err)
{
    const struct api *api = request->api;
    const char *node = request_query(request, "node");

    if (!node || strcmp(node, api->config->node) == 0)
        return 0;
    error_set(err, E_NOT_FOUND, "this is not the machine `%s`", node);
    return error_hint(err, "ask a gateway of its cluster");
}

/* --- in the worker --- */

static json_t *number_or_null(uint64_t number)
{
    return number ? json_integer((json_int_t)number) : json_null();
}

int trail_list(const struct trail_wish *wish, index_fn add, const char *key, json_t **ret_answer,
               struct error *err)
{
    cleanup_json json_t *list = json_array();
    struct index *index = NULL;
    struct index_page page = {0};
    int r;

    if (index_open(wish->dir, &index, err) < 0)
        return -1;
    r = index_find_page(index, &wish->filter, add, list, &page, err);
    index_close(index);
    if (r == 0)
        *ret_answer = json_pack("{s:O, s:o, s:o}", key, list, "next", number_or_null(page.next),
                                "newest", number_or_null(page.newest));
    return r;
}

/* --- in the server --- */

struct reading {
    struct api *api;
    struct caller *caller;
    struct request *request; /* NULL: the client has gone */
    struct worker *worker;
    struct trail_listener listener;
};

static void free_reading(struct reading *reading)
{
    if (reading->listener.free)
        reading->listener.free(reading->listener.user);
    free(reading);
}

static void on_gone(struct request *request)
{
    struct reading *reading = request->user;

    reading->request = NULL;
    worker_cancel(reading->worker);
}

static void on_progress(void *user, const json_t *line)
{
    struct reading *reading = user;

    if (reading->request)
        reading->listener.on_progress(reading->request, reading->listener.user, line);
}

static void on_done(void *user, json_t *answer, struct error *err)
{
    struct reading *reading = user;
    const struct trail_listener *listener = &reading->listener;
    struct request *request = reading->request;

    reading->api->n_audit_readers--;
    reading->caller->n_trail_readers--;
    if (request)
        request->on_gone = NULL;
    if (request && answer && listener->on_answer)
        listener->on_answer(request, listener->user, answer);
    else if (request && answer)
        request_answer_json(request, 200, json_incref(answer));
    else if (request && listener->on_error)
        listener->on_error(request, listener->user, err);
    else if (request)
        request_answer_error(request, err);
    free_reading(reading);
}

static int check_room(const struct api *api, const struct caller *caller, struct error *err)
{
    if (api->n_audit_readers < READERS_MAX && caller->n_trail_readers < OWN_MAX)
        return 0;
    error_set(err, E_BUSY, "too many requests read the audit trail: at most %d, and %d per token",
              READERS_MAX, OWN_MAX);
    return error_hint(err, "try again");
}

static int begin(struct reading *reading, const struct worker_task *task, struct error *err)
{
    struct worker_task own = *task;

    own.on_done = on_done;
    own.on_progress = reading->listener.on_progress ? on_progress : NULL;
    own.user = reading;
    own.keeps_nothing = own.allows_many = own.allows_nul = true;
    own.ret_worker = &reading->worker;
    return worker_start(reading->api->loop, &own, err);
}

int trail_read(struct request *request, const struct worker_task *task,
               const struct trail_listener *listener, struct error *err)
{
    struct api *api = request->api;
    struct reading *reading = calloc(1, sizeof(*reading));

    if (!reading) {
        if (listener && listener->free)
            listener->free(listener->user);
        return error_memory(err);
    }
    *reading = (struct reading){.api = api, .caller = request->caller, .request = request};
    if (listener)
        reading->listener = *listener;
    if (check_room(api, request->caller, err) < 0 || begin(reading, task, err) < 0) {
        free_reading(reading);
        return -1;
    }
    api->n_audit_readers++;
    request->caller->n_trail_readers++;
    request->user = reading;
    request->on_gone = on_gone;
    return 0;
}
