/* Publishes items that this machine alone has, and changes of items: contents first, then the item,
 * and last the list, which makes it valid. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/date.h"
#include "base/json.h"
#include "store/replica_internal.h"

static void make_change(struct replica_owner *owner);

/* --- objects --- */

static bool make_id(char id[ID_PLAIN_SIZE])
{
    return id_make_plain(id, "obj_") == 0;
}

static void on_piece(struct replica_owner *owner, const struct replica_answer *a);

static unsigned pieces_of(const struct buf *bytes)
{
    return bytes->len ? (unsigned)((bytes->len + REPLICA_PIECE - 1) / REPLICA_PIECE) : 1;
}

static void put_piece(struct replica_owner *owner)
{
    size_t at = (size_t)owner->piece * REPLICA_PIECE, left = owner->bytes.len - at;
    char place[REPLICA_PLACE_SIZE];

    replica_object(owner, owner->id, owner->piece, place);
    replica_ask(
        owner, REPLICA_PUT, place,
        (struct span){buf_str(&owner->bytes) + at, left < REPLICA_PIECE ? left : REPLICA_PIECE}, 0,
        on_piece);
}

static void on_piece(struct replica_owner *owner, const struct replica_answer *a)
{
    if (a->status != 200)
        replica_fail(owner, a->status);
    else if (++owner->piece < pieces_of(&owner->bytes))
        put_piece(owner);
    else
        owner->then(owner);
}

/* owner->bytes becomes an object of that id. */
static void put_object(struct replica_owner *owner, const char *id,
                       void (*then)(struct replica_owner *owner))
{
    memcpy(owner->id, id, sizeof(owner->id));
    owner->piece = 0;
    owner->then = then;
    put_piece(owner);
}

/* --- an item: contents that the bus does not have, and its description --- */

static void put_item(struct replica_owner *owner);
static void on_item_put(struct replica_owner *owner);

static void fail(struct replica_owner *owner, struct error *err)
{
    if (err->code == E_NONE)
        error_memory(err);
    replica_end(owner, err);
}

/* -1: the round is over. */
static int take_content(struct replica_owner *owner, struct replica_version *v)
{
    struct error err = {0};

    if (!make_id(v->id) ||
        (!v->has_content && replica_item_load(replica_store(owner), owner->name, &owner->item,
                                              owner->version, &err) < 0)) {
        fail(owner, &err);
        return -1;
    }
    buf_clear(&owner->bytes);
    if (buf_add(&owner->bytes, buf_str(&v->content), v->content.len, &err) < 0) {
        fail(owner, &err);
        return -1;
    }
    v->pieces = pieces_of(&owner->bytes);
    if (owner->names) { /* it is in the store */
        buf_done(&v->content);
        buf_init(&v->content, REPLICA_CONTENT_BYTES);
    }
    return 0;
}

static void put_versions(struct replica_owner *owner)
{
    for (; owner->version < owner->item.count; owner->version++) {
        struct replica_version *v = &owner->item.versions[owner->version];

        if (*v->id)
            continue;
        if (take_content(owner, v) == 0)
            put_object(owner, v->id, put_versions);
        return;
    }
    put_item(owner);
}

static void put_item(struct replica_owner *owner)
{
    struct error err = {0};

    buf_done(&owner->bytes);
    buf_init(&owner->bytes, REPLICA_ITEM_BYTES);
    if (!make_id(owner->published_id) ||
        replica_item_write(&owner->item, &owner->bytes, &err) < 0) {
        fail(owner, &err);
        return;
    }
    (void)snprintf(owner->published, sizeof(owner->published), "%s/%s",
                   replica_kinds[owner->item.kind], owner->item.name);
    put_object(owner, owner->published_id, on_item_put);
}

/* --- the list --- */

/* A list that is published again keeps its serial: another machine may have a newer one, and then
 * publishes that. */
static int64_t next_serial(const struct replica_owner *owner)
{
    int64_t now = date_now_ms(), last = owner->serial;

    if (owner->heals && owner->names && owner->row.is_there)
        return owner->row.serial;
    if (last < owner->row.serial)
        last = owner->row.serial;
    return now > last ? now : last + 1;
}

/* -1: the round is over. */
static int write_list(struct replica_owner *owner, struct buf *text)
{
    cleanup_json json_t *list = NULL;
    struct error err = {0};

    owner->serial = next_serial(owner);
    list = json_pack("{s:I, s:O}", "serial", (json_int_t)owner->serial, "items", owner->items);
    if (list && json_text_dump(list, JSON_TEXT_COMPACT, text, &err) == 0)
        return 0;
    fail(owner, &err);
    return -1;
}

static void swap_list(struct replica_owner *owner, replica_next next)
{
    cleanup(buf_done) struct buf text = BUF_OF(REPLICA_LIST_BYTES);
    char place[REPLICA_PLACE_SIZE];

    if (write_list(owner, &text) < 0)
        return;
    (void)snprintf(place, sizeof(place), "%s.list", owner->place);
    replica_ask(owner, REPLICA_SWAP, place, (struct span){buf_str(&text), text.len},
                owner->sequence, next);
}

/* --- items that are here alone --- */

static void next_name(struct replica_owner *owner);

static void finish_names(struct replica_owner *owner)
{
    json_decref(owner->names);
    owner->names = NULL;
    replica_tell_readers(owner);
    make_change(owner);
}

static void on_names_swapped(struct replica_owner *owner, const struct replica_answer *a)
{
    struct error err = {0};

    if (a->status == 409) {
        owner->has_orphans = true;
        replica_again(owner);
    } else if (a->status != 200) {
        replica_fail(owner, a->status);
    } else if (replica_row_save(owner, owner->items, owner->serial, &err) < 0) {
        replica_end(owner, &err);
    } else {
        owner->sequence = a->sequence;
        finish_names(owner);
    }
}

/* The ids are noted before the list is written: the objects are on the bus in any case. */
static void note_name(struct replica_owner *owner)
{
    struct error err = {0};

    if (replica_item_note(replica_store(owner), owner->name, &owner->item, &err) < 0) {
        replica_end(owner, &err);
        return;
    }
    json_set(owner->items, owner->published, json_string(owner->published_id));
    *owner->published = '\0';
    (void)json_object_del(owner->names, owner->key_now);
    next_name(owner);
}

static void next_name(struct replica_owner *owner)
{
    void *at = json_object_iter(owner->names);
    enum replica_kind kind = REPLICA_STATE;
    struct error err = {0};
    const char *name = "";
    int r;

    if (!at) {
        swap_list(owner, on_names_swapped);
        return;
    }
    owner->key_now = json_object_iter_key(at);
    (void)replica_item_key(owner->key_now, &kind, &name);
    replica_item_done(&owner->item);
    r = replica_item_read(replica_store(owner), owner->name, kind, name, &owner->item, &err);
    if (r <= 0) {
        fail(owner, &err);
        return;
    }
    for (size_t i = 0; owner->heals && i < owner->item.count; i++)
        *owner->item.versions[i].id = '\0';
    owner->version = 0;
    put_versions(owner);
}

/* --- the change --- */

/* Ids that the item has now, in owner->old. */
static void note_old(struct replica_owner *owner, const struct replica_item *item, const char *key)
{
    const char *id = json_string_value(json_object_get(owner->items, key));

    json_decref(owner->old);
    owner->old = json_object();
    if (id)
        json_set(owner->old, id, json_null());
    for (size_t i = 0; i < item->count; i++)
        if (*item->versions[i].id)
            json_set(owner->old, item->versions[i].id, json_null());
}

static void purge_old(struct replica_owner *owner)
{
    const char *id;
    json_t *unused;

    for (size_t i = 0; i < owner->item.count; i++)
        (void)json_object_del(owner->old, owner->item.versions[i].id);
    json_object_foreach(owner->old, id, unused)
    {
        replica_purge(owner, id);
    }
}

/* Removes the objects of a change that did not get onto the list. */
static void purge_new(struct replica_owner *owner)
{
    for (size_t i = 0; i < owner->item.count; i++)
        if (owner->item.versions[i].has_content)
            replica_purge(owner, owner->item.versions[i].id);
    replica_purge(owner, owner->published_id);
}

/* Makes the published change in the store. */
static int apply(struct replica_owner *owner, struct error *err)
{
    struct store *store = replica_store(owner);

    if (!*owner->published_id)
        return replica_item_remove(store, owner->name, owner->item.kind, owner->item.name, err);
    for (size_t i = owner->item.count; i-- > 0;)
        if (owner->item.versions[i].has_content &&
            replica_item_put(store, owner->name, &owner->item, i, err) < 0)
            return -1;
    return replica_item_settle(store, owner->name, &owner->item, err);
}

/* The change is on the bus. If the store cannot take it now, the next round fetches it. */
static void on_change_swapped(struct replica_owner *owner, const struct replica_answer *a)
{
    struct error err = {0};

    if (a->status == 409) {
        if (*owner->published_id)
            purge_new(owner);
        replica_again(owner);
        return;
    }
    if (a->status == 503) { /* it may have been written: the next list says so */
        owner->is_unsure = true;
        replica_again(owner);
        return;
    }
    if (a->status != 200) {
        replica_fail(owner, a->status);
        return;
    }
    purge_old(owner);
    if (apply(owner, &err) == 0)
        (void)replica_row_save(owner, owner->items, owner->serial, &err);
    error_done(&err);
    replica_end(owner, NULL);
}

static void swap_change(struct replica_owner *owner)
{
    if (*owner->published_id)
        json_set(owner->items, owner->published, json_string(owner->published_id));
    else
        (void)json_object_del(owner->items, owner->published);
    swap_list(owner, on_change_swapped);
}

static void on_item_put(struct replica_owner *owner)
{
    if (owner->names)
        note_name(owner);
    else
        swap_change(owner);
}

/* Makes the change in the trial, and reads the item before and after it. Returns 1; 0: nothing has
 * changed. */
static int try_in_store(struct replica_owner *owner, struct error *err)
{
    struct replica_wait *wait = owner->change;
    struct store *store = replica_store(owner);
    cleanup(replica_item_done) struct replica_item was = {0};
    cleanup(buf_done) struct buf before = BUF_OF(REPLICA_ITEM_BYTES),
                                 after = BUF_OF(REPLICA_ITEM_BYTES);
    int had, has;

    had = replica_item_read(store, owner->name, wait->kind, wait->name, &was, err);
    if (had < 0 || (had && replica_item_write(&was, &before, err) < 0) || wait->make(wait, err) < 0)
        return -1;
    note_old(owner, &was, owner->published);
    has = replica_item_read(store, owner->name, wait->kind, wait->name, &owner->item, err);
    if (has < 0 || (has && replica_item_write(&owner->item, &after, err) < 0))
        return -1;
    for (size_t i = 0; i < owner->item.count; i++)
        if (!*owner->item.versions[i].id &&
            replica_item_load(store, owner->name, &owner->item, i, err) < 0)
            return -1;
    owner->is_gone = !has;
    if (!has) {
        owner->item.kind = wait->kind;
        (void)snprintf(owner->item.name, sizeof(owner->item.name), "%s", wait->name);
    }
    return had != has || strcmp(buf_str(&before), buf_str(&after)) != 0;
}

/* Whether an earlier round has published it, whose answer was lost. */
static bool was_published(const struct replica_owner *owner)
{
    const char *id = json_string_value(json_object_get(owner->items, owner->published));

    return owner->is_unsure && strcmp(id ? id : "", owner->published_id) == 0;
}

static void make_change(struct replica_owner *owner)
{
    struct replica_wait *wait = owner->change;
    struct error err = {0};
    int r;

    if (!wait || was_published(owner)) {
        replica_end(owner, NULL);
        return;
    }
    replica_item_done(&owner->item);
    owner->is_unsure = false;
    *owner->published_id = '\0';
    (void)snprintf(owner->published, sizeof(owner->published), "%s/%s", replica_kinds[wait->kind],
                   wait->name);
    if (store_begin_trial(replica_store(owner), &err) < 0) {
        replica_end(owner, &err);
        return;
    }
    r = try_in_store(owner, &err);
    store_end_trial(replica_store(owner));
    if (r <= 0) {
        replica_end(owner, &err);
        return;
    }
    owner->version = 0;
    if (owner->is_gone)
        swap_change(owner);
    else
        put_versions(owner);
}

void replica_publish(struct replica_owner *owner)
{
    if (json_object_size(owner->names))
        next_name(owner);
    else
        finish_names(owner);
}
