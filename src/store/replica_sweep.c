#include <string.h>

#include "base/cleanup.h"
#include "base/date.h"
#include "base/json.h"
#include "base/span.h"
#include "store/replica_internal.h"

/* Younger ones may be on their way onto a list. */
#define YOUNG_MS 3600000

/* Those that the list names, and the items that it names. */
static int read_known(struct replica_owner *owner, json_t **ret_ids, struct error *err)
{
    cleanup(store_end) sqlite3_stmt *row =
        store_query(replica_store(owner), err,
                    "SELECT id FROM replica_object WHERE owner=?1 UNION SELECT value FROM replica,"
                    " json_each(replica.list) WHERE owner=?1",
                    "s", owner->name);
    json_t *ids = json_object();
    int r = row ? 0 : -1;

    while (row && (r = store_step(replica_store(owner), row, err)) > 0)
        json_set(ids, (const char *)sqlite3_column_text(row, 0), json_null());
    if (r < 0) {
        json_decref(ids);
        return -1;
    }
    *ret_ids = ids;
    return 0;
}

static void on_found(struct replica_owner *owner, const struct replica_answer *a)
{
    cleanup_json json_t *known = NULL;
    struct span rest = a->data;
    struct error err = {0};

    owner->has_orphans = false;
    if (a->status != 200 || read_known(owner, &known, &err) < 0) {
        error_done(&err);
        replica_end(owner, NULL);
        return;
    }
    while (rest.len) {
        size_t len = span_until(rest, "\n");
        char id[ID_PLAIN_SIZE] = "";

        if (len == ID_PLAIN_SIZE - 1)
            memcpy(id, rest.data, len);
        len += len < rest.len;
        rest = (struct span){rest.data + len, rest.len - len};
        if (*id && id_time_ms(id) >= 0 && id_time_ms(id) < date_now_ms() - YOUNG_MS &&
            !json_object_get(known, id))
            replica_purge(owner, id);
    }
    replica_end(owner, NULL);
}

void replica_sweep(struct replica_owner *owner)
{
    replica_ask(owner, REPLICA_FIND, owner->place, (struct span){0}, 0, on_found);
}
