/* The owners, those that wait for them, and the questions on their way to the bus. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "store/replica_internal.h"

#define BUCKETS 1024

/* A question that is not answered for so long: whoever carries it hangs. */
#define SILENT_MS 6000

/* It took so long to find out that the bus is away: then for a second nobody waits to find out
 * again. While servers of the bus choose a leader, all questions are like that. */
#define SLOW_NS UINT64_C(500000000)
#define AWAY_NS UINT64_C(1000000000)

struct replicas {
    struct loop *loop;
    struct store *store;
    struct replica_port port; /* send NULL: there is none */
    uint64_t away_until_ns;   /* it was found away: nobody waits to find out again */
    uint64_t last;            /* number of a question */
    LIST_HEAD(, replica_owner) buckets[BUCKETS];
};

struct store *replica_store(const struct replica_owner *owner)
{
    return owner->replicas->store;
}

/* --- owners --- */

static size_t bucket_of(const char *name)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * UINT64_C(1099511628211);
    return (size_t)(hash % BUCKETS);
}

static struct replica_owner *find(const struct replicas *replicas, const char *name)
{
    struct replica_owner *owner;

    LIST_FOREACH(owner, &replicas->buckets[bucket_of(name)], of_bucket) {
        if (strcmp(owner->name, name) == 0)
            return owner;
    }
    return NULL;
}

static void on_silence(void *arg);
static void on_paused(void *arg);

static struct replica_owner *make(struct replicas *replicas, const char *name)
{
    struct replica_owner *owner = calloc(1, sizeof(*owner));

    if (!owner || strlen(name) >= sizeof(owner->name)) {
        free(owner);
        return NULL;
    }
    owner->clock = loop_timer(replicas->loop, on_silence, owner);
    owner->pause = loop_timer(replicas->loop, on_paused, owner);
    if (!owner->clock || !owner->pause) {
        loop_watch_free(owner->clock);
        loop_watch_free(owner->pause);
        free(owner);
        return NULL;
    }
    owner->replicas = replicas;
    owner->has_orphans = true; /* of an earlier process */
    (void)snprintf(owner->name, sizeof(owner->name), "%s", name);
    TAILQ_INIT(&owner->waits);
    TAILQ_INIT(&owner->reading);
    buf_init(&owner->bytes, REPLICA_CONTENT_BYTES);
    LIST_INSERT_HEAD(&replicas->buckets[bucket_of(name)], owner, of_bucket);
    return owner;
}

static void forget_round(struct replica_owner *owner)
{
    loop_timer_stop(owner->clock);
    loop_timer_stop(owner->pause);
    owner->asked = 0;
    replica_row_done(&owner->row);
    json_decref(owner->items);
    json_decref(owner->names);
    json_decref(owner->old);
    owner->items = owner->names = owner->old = NULL;
    owner->key_now = NULL;
    replica_item_done(&owner->item);
    buf_done(&owner->bytes);
    buf_init(&owner->bytes, REPLICA_CONTENT_BYTES);
    owner->heals = owner->is_first = false;
}

static void free_owner(struct replica_owner *owner)
{
    LIST_REMOVE(owner, of_bucket);
    forget_round(owner);
    loop_watch_free(owner->clock);
    loop_watch_free(owner->pause);
    buf_done(&owner->bytes);
    explicit_bzero(owner->key, sizeof(owner->key));
    free(owner);
}

void replicas_learn(struct replicas *replicas, const char *name, struct span token)
{
    struct replica_owner *owner = find(replicas, name);
    uint8_t key[SHA256_BYTES], hash[SHA256_BYTES];

    store_place_key(token, key);
    /* A new token of the same owner has to wait until the round with the old one is over. */
    if (owner && (owner->is_working || memcmp(owner->key, key, sizeof(key)) == 0))
        return;
    owner = owner ? owner : make(replicas, name);
    if (!owner)
        return;
    sha256(token.data, token.len, hash);
    store_place(hash, owner->place);
    memcpy(owner->key, key, sizeof(owner->key));
    explicit_bzero(key, sizeof(key));
}

static void complain(struct replica_owner *owner, const struct error *err)
{
    if (!owner->has_complained)
        LOG_EVENT(LOG_WARNING, "replica", {"owner", owner->name}, {"message", error_message(err)});
    owner->has_complained = true;
}

void replicas_drop(struct replicas *replicas, const char *name)
{
    struct replica_owner *owner = find(replicas, name);
    cleanup_error struct error err = {0};
    int64_t is_shared = 0;

    if (!owner || owner->is_working)
        return;
    if (store_number(replicas->store, 0, &is_shared, &err,
                     "SELECT COUNT(*) FROM replica WHERE owner=?", "s", name) == 0 &&
        is_shared)
        (void)store_forget(replicas->store, name, &err);
    if (err.code != E_NONE)
        complain(owner, &err);
    free_owner(owner);
}

/* --- questions --- */

void replica_object(const struct replica_owner *owner, const char *id, unsigned piece,
                    char place[REPLICA_PLACE_SIZE])
{
    (void)snprintf(place, REPLICA_PLACE_SIZE, "%s.%s.%u", owner->place, id, piece);
}

static void answer(struct replica_owner *owner, const struct replica_answer *a)
{
    struct replicas *replicas = owner->replicas;

    loop_timer_stop(owner->clock);
    owner->asked = 0;
    if (a->status != 503)
        replicas->away_until_ns = 0;
    else if (loop_now_ns() > owner->asked_ns + SLOW_NS)
        replicas->away_until_ns = loop_now_ns() + AWAY_NS;
    owner->next(owner, a);
}

static void on_silence(void *arg)
{
    struct replica_owner *owner = arg;

    if (owner->asked)
        answer(owner, &(struct replica_answer){.status = 503});
}

/* Sealed for its place. Without a port, or memory, the clock answers: at once, from the loop. */
void replica_ask(struct replica_owner *owner, enum replica_do what, const char *place,
                 struct span data, uint64_t after, replica_next next)
{
    cleanup(buf_done) struct buf sealed = BUF_OF(REPLICA_PIECE + SEAL_EXTRA);
    struct replicas *replicas = owner->replicas;
    struct replica_ask ask = {
        .number = ++replicas->last, .what = what, .place = place, .after = after};
    bool is_sent =
        replicas->port.send && (owner->is_unsure || loop_now_ns() >= replicas->away_until_ns);

    owner->asked = ask.number;
    owner->asked_ns = loop_now_ns();
    owner->next = next;
    if (is_sent && (what == REPLICA_PUT || what == REPLICA_SWAP)) {
        is_sent = seal_close(owner->key, place, data, &sealed, NULL) == 0;
        ask.data = (struct span){buf_str(&sealed), sealed.len};
    }
    loop_timer_start(owner->clock, is_sent ? SILENT_MS : 0);
    if (is_sent)
        replicas->port.send(replicas->port.user, &ask);
}

void replica_purge(struct replica_owner *owner, const char *id)
{
    struct replicas *replicas = owner->replicas;
    char place[REPLICA_PLACE_SIZE];
    const struct replica_ask ask = {
        .number = ++replicas->last, .what = REPLICA_PURGE, .place = place};

    (void)snprintf(place, sizeof(place), "%s.%s", owner->place, id);
    if (replicas->port.send)
        replicas->port.send(replicas->port.user, &ask);
}

void replicas_answer(struct replicas *replicas, uint64_t number, int status, uint64_t sequence,
                     struct span data)
{
    const struct replica_answer a = {.status = status, .sequence = sequence, .data = data};

    for (size_t i = 0; number && i < BUCKETS; i++) {
        struct replica_owner *owner;

        LIST_FOREACH(owner, &replicas->buckets[i], of_bucket) {
            if (owner->asked == number) {
                answer(owner, &a);
                return;
            }
        }
    }
}

/* Questions to the port that is gone get 503 from the clock. */
void replicas_connect(struct replicas *replicas, const struct replica_port *port)
{
    replicas->port = port ? *port : (struct replica_port){0};
    replicas->away_until_ns = 0;
    for (size_t i = 0; i < BUCKETS; i++) {
        struct replica_owner *owner;

        LIST_FOREACH(owner, &replicas->buckets[i], of_bucket) {
            if (owner->asked)
                loop_timer_start(owner->clock, 0);
        }
    }
}

bool replicas_is_port(const struct replicas *replicas, const void *user)
{
    return replicas->port.send && replicas->port.user == user;
}

/* --- rounds --- */

static bool is_there(const struct replica_waits *waits)
{
    return !TAILQ_EMPTY(waits);
}

/* Takes all that wait now: what is asked from here on is new enough for them. */
void replica_begin(struct replica_owner *owner)
{
    struct replica_wait *wait, *next;

    owner->is_unsure = owner->is_unsure && owner->change;
    for (wait = TAILQ_FIRST(&owner->waits); wait; wait = next) {
        next = TAILQ_NEXT(wait, link);
        if (!wait->is_read && owner->change)
            continue;
        TAILQ_REMOVE(&owner->waits, wait, link);
        if (wait->is_read)
            TAILQ_INSERT_TAIL(&owner->reading, wait, link);
        else
            owner->change = wait;
    }
    forget_round(owner);
    replica_fetch(owner);
}

static void tell(struct replica_wait *wait, struct error *err)
{
    wait->of = NULL;
    wait->done(wait, err);
}

void replica_tell_readers(struct replica_owner *owner)
{
    while (is_there(&owner->reading)) {
        struct replica_wait *wait = TAILQ_FIRST(&owner->reading);
        struct error none = {0};

        TAILQ_REMOVE(&owner->reading, wait, link);
        tell(wait, &none);
    }
}

void replica_end(struct replica_owner *owner, struct error *err)
{
    struct replica_wait *change = take_ptr(owner->change);
    bool is_good = !err || err->code == E_NONE;
    struct error none = {0};

    if (!is_good)
        complain(owner, err);
    else
        owner->has_complained = false;
    forget_round(owner);
    owner->is_unsure = false;
    owner->tries = 0;
    /* Callbacks may wait again. */
    if (change)
        tell(change, err ? err : &none);
    replica_tell_readers(owner);
    if (err)
        error_done(err);
    if (is_there(&owner->waits))
        replica_begin(owner);
    else if (is_good && owner->has_orphans)
        replica_sweep(owner);
    else
        owner->is_working = false;
}

void replica_fail(struct replica_owner *owner, int status)
{
    struct error err = {0};

    if (status == 507) {
        error_set(&err, E_TOO_LARGE, "the bus has no room for more skills and states");
        error_hint(&err, "delete some; the operator gives nats-server more with `max_file_store`");
    } else if (status == 501) {
        error_set(&err, E_UNSUPPORTED,
                  "the servers of the bus store nothing: JetStream is not available");
        error_hint(&err, "skills and states of a cluster need it: see nats-server.conf");
    } else {
        error_set(&err, E_BUSY,
                  "the bus, which stores the skills and states of all machines, is unavailable");
        error_hint(&err, "they can be read meanwhile; try again in a moment");
    }
    replica_end(owner, &err);
}

static void on_paused(void *arg)
{
    replica_begin(arg);
}

void replica_again(struct replica_owner *owner)
{
    struct error err = {0};
    uint8_t random = 0;

    if (++owner->tries < REPLICA_TRIES) {
        (void)!getrandom(&random, sizeof(random), GRND_NONBLOCK);
        loop_timer_start(owner->pause,
                         random % (UINT64_C(1) << (owner->tries < 6 ? owner->tries : 6)));
        return;
    }
    error_set(&err, E_BUSY, "other machines are changing the skills and states of this token");
    error_hint(&err, "try again in a moment");
    replica_end(owner, &err);
}

/* --- waiting --- */

/* NULL: what it owns is on this machine alone. */
static struct replica_owner *owner_of(struct store *store, const char *name)
{
    const struct replicas *replicas = store_replicas(store);

    return replicas ? find(replicas, name) : NULL;
}

static void enter(struct replica_owner *owner, struct replica_wait *wait)
{
    wait->of = owner;
    TAILQ_INSERT_TAIL(&owner->waits, wait, link);
    if (owner->is_working)
        return;
    owner->is_working = true;
    replica_begin(owner);
}

void replica_read(struct store *store, const char *name, struct replica_wait *wait)
{
    struct replica_owner *owner = owner_of(store, name);
    struct error none = {0};

    wait->is_read = true;
    if (owner)
        enter(owner, wait);
    else
        tell(wait, &none);
}

void replica_change(struct store *store, const char *name, struct replica_wait *wait)
{
    struct replica_owner *owner = owner_of(store, name);
    struct error err = {0};

    wait->is_read = false;
    if (owner) {
        enter(owner, wait);
        return;
    }
    (void)wait->make(wait, &err);
    tell(wait, &err);
}

void replica_forget(struct replica_wait *wait)
{
    struct replica_owner *owner = take_ptr(wait->of);
    struct replica_waits *list;

    if (!owner)
        return;
    if (owner->change == wait) {
        owner->change = NULL;
        return;
    }
    list = &owner->waits;
    for (struct replica_wait *w = TAILQ_FIRST(&owner->reading); w; w = TAILQ_NEXT(w, link))
        if (w == wait)
            list = &owner->reading;
    TAILQ_REMOVE(list, wait, link);
}

/* --- life --- */

int replicas_new(struct loop *loop, struct store *store, struct replicas **ret_replicas,
                 struct error *err)
{
    struct replicas *replicas = calloc(1, sizeof(*replicas));

    if (!replicas)
        return error_memory(err);
    replicas->loop = loop;
    replicas->store = store;
    for (size_t i = 0; i < BUCKETS; i++)
        LIST_INIT(&replicas->buckets[i]);
    store_set_replicas(store, replicas);
    *ret_replicas = replicas;
    return 0;
}

void replicas_free(struct replicas *replicas)
{
    if (!replicas)
        return;
    store_set_replicas(replicas->store, NULL);
    for (size_t i = 0; i < BUCKETS; i++)
        while (!LIST_EMPTY(&replicas->buckets[i]))
            free_owner(LIST_FIRST(&replicas->buckets[i]));
    free(replicas);
}

int replicas_leave(struct store *store, struct error *err)
{
    if (!store_is_there(store))
        return 0;
    if (store_begin(store, err) < 0)
        return -1;
    if (store_do(store, err, "DELETE FROM replica", "") < 0)
        return store_commit(store, -1, err);
    return store_commit(store, store_do(store, err, "DELETE FROM replica_object", ""), err);
}
