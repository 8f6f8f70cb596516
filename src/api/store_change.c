#include "api/store_change.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/json.h"
#include "store/skill.h"

static void free_change(struct store_change *change)
{
    json_decref(change->input);
    free(change);
}

static int make(struct replica_wait *wait, struct error *err)
{
    struct store_change *change = (struct store_change *)wait;

    return change->make(change, err);
}

static void on_done(struct replica_wait *wait, struct error *err)
{
    struct store_change *change = (struct store_change *)wait;

    change->request->on_gone = NULL;
    change->answer(change, err);
    free_change(change);
}

/* It may have been made, as a request whose connection breaks. */
static void on_gone(struct request *request)
{
    struct store_change *change = request->user;

    replica_forget(&change->wait);
    free_change(change);
}

struct store_change *store_change_new(struct request *request, enum replica_kind kind,
                                      const char *name)
{
    struct error err = {0};
    struct store *store = api_store(request->api, &err);
    struct store_change *change = store ? calloc(1, sizeof(*change)) : NULL;

    if (!change) {
        if (err.code == E_NONE)
            error_memory(&err);
        request_answer_error(request, &err);
        return NULL;
    }
    change->request = request;
    change->store = store;
    change->owner = request->caller->keeper;
    change->wait.kind = kind;
    /* make() refuses what is not a name. */
    if (kind != REPLICA_SKILL || skill_key(name, change->wait.name, NULL) < 0)
        (void)snprintf(change->wait.name, sizeof(change->wait.name), "%s", name);
    return change;
}

void store_change_begin(struct store_change *change)
{
    struct request *request = change->request;

    change->wait.make = make;
    change->wait.done = on_done;
    request->user = change;
    request->on_gone = on_gone;
    replica_change(change->store, change->owner, &change->wait);
}
