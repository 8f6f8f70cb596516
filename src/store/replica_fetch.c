/* Makes the store what the list on the bus says: fetches items that are new or have changed,
 * version by version, and removes those that the list does not name. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "store/replica_internal.h"

#define ITEMS_MAX (LIMIT_WORKS + LIMIT_SKILLS)

/* --- the owner's row --- */

void replica_row_done(struct replica_row *row)
{
    json_decref(row->items);
    *row = (struct replica_row){0};
}

static int load_row(struct replica_owner *owner, struct error *err)
{
    cleanup(store_end) sqlite3_stmt *row = store_query(
        replica_store(owner), err, "SELECT serial, list FROM replica WHERE owner=? AND place=?",
        "ss", owner->name, owner->place);
    int r = row ? store_step(replica_store(owner), row, err) : -1;

    if (r < 0)
        return -1;
    owner->row.is_there = r > 0;
    if (r > 0) {
        const char *text = (const char *)sqlite3_column_text(row, 1);

        owner->row.serial = sqlite3_column_int64(row, 0);
        owner->row.items = text ? json_text_own(text, strlen(text)) : NULL;
    }
    if (!owner->row.items)
        owner->row.items = json_object();
    return owner->row.items ? 0 : error_memory(err);
}

int replica_row_save(struct replica_owner *owner, json_t *items, int64_t serial, struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(REPLICA_LIST_BYTES);
    struct store *store = replica_store(owner);

    if (json_text_dump(items, JSON_TEXT_COMPACT, &text, err) < 0 || store_begin(store, err) < 0)
        return -1;
    if (store_commit(store,
                     store_do(store, err, "INSERT OR REPLACE INTO replica VALUES(?,?,?,?)", "ssis",
                              owner->name, owner->place, serial, buf_str(&text)),
                     err) < 0)
        return -1;
    json_incref(items);
    json_decref(owner->row.items);
    owner->row = (struct replica_row){.is_there = true, .serial = serial, .items = items};
    return 0;
}

/* --- the list --- */

static bool is_key(const char *key)
{
    enum replica_kind kind;
    const char *name;

    return replica_item_key(key, &kind, &name) && *name && strlen(name) <= STORE_NAME_MAX;
}

static bool are_items(const json_t *items)
{
    const char *key;
    const json_t *id;

    if (!json_is_object(items) || json_object_size(items) > ITEMS_MAX)
        return false;
    json_object_foreach((json_t *)(uintptr_t)items, key, id)
    {
        const char *text = json_string_value(id);

        if (!is_key(key) || !text || strlen(text) != ID_PLAIN_SIZE - 1 ||
            strncmp(text, "obj_", 4) != 0 || id_time_ms(text) < 0)
            return false;
    }
    return true;
}

/* -1: it is not what this owner's token has sealed. */
static int read_list(struct replica_owner *owner, struct span sealed)
{
    static const struct json_text_limits limits = {.bytes = REPLICA_LIST_BYTES, .depth = 4};
    cleanup(buf_done) struct buf text = BUF_OF(REPLICA_LIST_BYTES + 1);
    char place[REPLICA_PLACE_SIZE];
    cleanup_json json_t *list = NULL;
    json_t *items;

    (void)snprintf(place, sizeof(place), "%s.list", owner->place);
    if (seal_open(owner->key, place, sealed, &text, NULL) < 0 ||
        json_text_load(buf_str(&text), text.len, &limits, &list, NULL) < 0)
        return -1;
    items = json_object_get(list, "items");
    owner->serial = (int64_t)json_integer_value(json_object_get(list, "serial"));
    if (!are_items(items) || owner->serial < 1)
        return -1;
    owner->items = json_incref(items);
    return 0;
}

/* --- items that it does not name --- */

static int drop_others(struct replica_owner *owner, json_t *names, struct error *err)
{
    const char *key;
    json_t *unused;
    void *tmp;

    json_object_foreach_safe(names, tmp, key, unused)
    {
        enum replica_kind kind;
        const char *name;

        if (json_object_get(owner->items, key) || !replica_item_key(key, &kind, &name)) {
            (void)json_object_del(names, key);
            continue;
        }
        if (owner->is_first)
            continue; /* from before it was shared: it is published */
        if (replica_item_remove(replica_store(owner), owner->name, kind, name, err) < 0)
            return -1;
        (void)json_object_del(names, key);
    }
    return 0;
}

/* Everything that the list names is here. */
static void settle(struct replica_owner *owner)
{
    struct error err = {0};
    json_t *names = NULL;

    if (replica_item_names(replica_store(owner), owner->name, &names, &err) < 0 ||
        drop_others(owner, names, &err) < 0 ||
        replica_row_save(owner, owner->items, owner->serial, &err) < 0) {
        json_decref(names);
        replica_end(owner, &err);
        return;
    }
    owner->names = names;
    replica_publish(owner);
}

/* --- one item --- */

static void next_item(struct replica_owner *owner);

/* An object is missing: another machine has changed the item meanwhile, or the bus has lost it. */
static void miss(struct replica_owner *owner)
{
    struct error err = {0};

    if (owner->tries + 1 < REPLICA_FETCHES) {
        replica_again(owner);
        return;
    }
    error_set(&err, E_PROTOCOL, "the bus has lost a part of `%s`", owner->key_now);
    error_hint(&err, "use this token on a machine that has a copy: it still works there");
    replica_end(owner, &err);
}

/* False: the piece cannot be used, and the round goes on elsewhere. */
static bool open_piece(struct replica_owner *owner, const struct replica_answer *a)
{
    char place[REPLICA_PLACE_SIZE];

    replica_object(owner, owner->id, owner->piece, place);
    if (a->status == 200 && seal_open(owner->key, place, a->data, &owner->bytes, NULL) == 0)
        return true;
    if (a->status == 200 || a->status == 404)
        miss(owner);
    else
        replica_fail(owner, a->status);
    return false;
}

static void next_version(struct replica_owner *owner);

static void on_content(struct replica_owner *owner, const struct replica_answer *a)
{
    struct replica_version *v = &owner->item.versions[owner->version];
    struct error err = {0};
    char place[REPLICA_PLACE_SIZE];

    if (!open_piece(owner, a))
        return;
    if (++owner->piece < v->pieces) {
        replica_object(owner, owner->id, owner->piece, place);
        replica_ask(owner, REPLICA_GET, place, (struct span){0}, 0, on_content);
        return;
    }
    v->content = owner->bytes;
    buf_init(&owner->bytes, REPLICA_CONTENT_BYTES);
    if (replica_item_put(replica_store(owner), owner->name, &owner->item, owner->version, &err) <
        0) {
        replica_end(owner, &err);
        return;
    }
    buf_done(&v->content);
    buf_init(&v->content, REPLICA_CONTENT_BYTES);
    next_version(owner);
}

/* The oldest first: until the last one is here, the item is an older one. */
static void next_version(struct replica_owner *owner)
{
    struct error err = {0};
    char place[REPLICA_PLACE_SIZE];

    while (owner->version > 0) {
        bool is_known = false;

        owner->version--;
        if (replica_item_known(replica_store(owner), owner->name, &owner->item, owner->version,
                               &is_known, &err) < 0) {
            replica_end(owner, &err);
            return;
        }
        if (is_known)
            continue;
        memcpy(owner->id, owner->item.versions[owner->version].id, sizeof(owner->id));
        owner->piece = 0;
        replica_object(owner, owner->id, 0, place);
        replica_ask(owner, REPLICA_GET, place, (struct span){0}, 0, on_content);
        return;
    }
    if (replica_item_settle(replica_store(owner), owner->name, &owner->item, &err) < 0)
        replica_end(owner, &err);
    else
        next_item(owner);
}

static void on_item(struct replica_owner *owner, const struct replica_answer *a)
{
    enum replica_kind kind = REPLICA_STATE;
    struct error err = {0};
    const char *name = "";
    int r;

    if (!open_piece(owner, a))
        return;
    (void)replica_item_key(owner->key_now, &kind, &name);
    replica_item_done(&owner->item);
    r = replica_item_parse(kind, name, (struct span){buf_str(&owner->bytes), owner->bytes.len},
                           &owner->item, &err);
    buf_clear(&owner->bytes);
    if (r < 0) {
        replica_end(owner, &err);
        return;
    }
    owner->version = owner->item.count;
    next_version(owner);
}

static bool has_item(const struct replica_owner *owner, const char *key)
{
    const char *ours = json_string_value(json_object_get(owner->row.items, key));

    return ours && strcmp(ours, json_string_value(json_object_get(owner->items, key))) == 0;
}

static void next_item(struct replica_owner *owner)
{
    void *at =
        owner->key_now
            ? json_object_iter_next(owner->items, json_object_iter_at(owner->items, owner->key_now))
            : json_object_iter(owner->items);
    char place[REPLICA_PLACE_SIZE];

    while (at && has_item(owner, json_object_iter_key(at)))
        at = json_object_iter_next(owner->items, at);
    if (!at) {
        settle(owner);
        return;
    }
    owner->key_now = json_object_iter_key(at);
    (void)snprintf(owner->id, sizeof(owner->id), "%s",
                   json_string_value(json_object_iter_value(at)));
    owner->piece = 0;
    buf_clear(&owner->bytes);
    replica_object(owner, owner->id, 0, place);
    replica_ask(owner, REPLICA_GET, place, (struct span){0}, 0, on_item);
}

/* --- which list is newer --- */

static void warn(const struct replica_owner *owner, const char *what)
{
    LOG_EVENT(LOG_WARNING, "replica", {"owner", owner->name}, {"message", what});
}

/* The copy here is the newest: all of it is published again. */
static void heal(struct replica_owner *owner)
{
    struct error err = {0};

    json_decref(owner->items);
    owner->items = json_object();
    owner->heals = owner->has_orphans = true;
    if (!owner->items ||
        replica_item_names(replica_store(owner), owner->name, &owner->names, &err) < 0) {
        if (err.code == E_NONE)
            error_memory(&err);
        replica_end(owner, &err);
        return;
    }
    replica_publish(owner);
}

static void on_bad_list(struct replica_owner *owner)
{
    struct error err = {0};

    warn(owner, "the list on the bus was not sealed with this token");
    if (owner->row.is_there) {
        heal(owner);
        return;
    }
    error_set(&err, E_PROTOCOL, "the list of skills and states on the bus is damaged");
    error_hint(&err, "use this token on a machine that has a copy: it takes the list's place");
    replica_end(owner, &err);
}

static void on_list(struct replica_owner *owner, const struct replica_answer *a)
{
    owner->sequence = a->sequence;
    owner->is_first = !owner->row.is_there;
    if (a->status == 404) {
        if (owner->row.is_there && json_object_size(owner->row.items))
            warn(owner, "the bus has lost the list of skills and states");
        owner->sequence = 0;
        heal(owner);
    } else if (a->status != 200) {
        replica_fail(owner, a->status);
    } else if (read_list(owner, a->data) < 0) {
        on_bad_list(owner);
    } else if (owner->row.is_there && owner->serial < owner->row.serial) {
        warn(owner, "the bus has an older list of skills and states than this machine");
        heal(owner);
    } else if (owner->row.is_there && owner->serial == owner->row.serial &&
               json_equal(owner->items, owner->row.items)) {
        owner->names = json_object(); /* nothing is here alone */
        replica_publish(owner);
    } else {
        next_item(owner);
    }
}

void replica_fetch(struct replica_owner *owner)
{
    char place[REPLICA_PLACE_SIZE];
    struct error err = {0};

    if (load_row(owner, &err) < 0) {
        replica_end(owner, &err);
        return;
    }
    (void)snprintf(place, sizeof(place), "%s.list", owner->place);
    replica_ask(owner, REPLICA_GET, place, (struct span){0}, 0, on_list);
}
