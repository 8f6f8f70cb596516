#include "cluster/keep.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>

#include <nats/nats.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "base/limits.h"
#include "base/log.h"
#include "cluster/bus.h"

/* What a bucket may come to hold: some 300,000 names. A full one takes no more. */
#define BUCKET_BYTES (64 * (int64_t)MIB)

/* Most sessions end without a request by name. An entry that nobody has written for so long goes;
 * if the session lives still, its node says so when all are asked. */
#define NAMES_TTL_NS (INT64_C(86400) * 1000000000)

/* A value is a node's name. Servers count the headers of a message as well, which say what revision
 * is expected. */
#define VALUE_BYTES 512

/* As long as an engine keeps a key (docs/guide/http.md), and a while more. */
#define KEYS_TTL_NS (INT64_C(7200) * 1000000000)

/* One answer. While servers choose a leader there is none for seconds. */
#define WAIT_MS 1500

/* From a question without an answer to the next one that is asked. */
#define AWAY_NS UINT64_C(1000000000)

/* Until the same is logged again. */
#define SAID_NS UINT64_C(30000000000)

/* Questions that wait: more are answered with KEEP_AWAY at once. */
#define WAITING_MAX 1024

/* Entries that rest before they are dropped: more stay in the bucket, where they do no harm. */
#define RESTING_MAX 4096

struct keep_request {
    STAILQ_ENTRY(keep_request) link;
    enum keep_bucket bucket;
    enum keep_question question;
    char key[KEEP_KEY_SIZE];
    char node[13];
    uint64_t revision;
    uint64_t due_ns; /* of an entry that rests */
    struct keep_answer answer;
    keep_fn fn; /* of the loop; NULL: forgotten */
    void *user;
};

STAILQ_HEAD(requests, keep_request);

struct keep {
    struct loop *loop;
    struct bus *bus;
    int replicas;
    pthread_mutex_t lock;
    pthread_cond_t filled;
    struct requests asked, answered;
    struct requests resting; /* of the thread alone */
    size_t n_asked, n_resting;
    int event_fd;
    struct loop_watch *watch;
    pthread_t thread;
    bool has_thread, is_stopping;
    char said[256]; /* of the loop: what was logged last */
    uint64_t said_ns;
    char why[256]; /* the last failure, until it is logged */

    /* of the thread */
    uint64_t away_until_ns; /* nobody is asked */
    jsCtx *js;
    kvStore *stores[2];
};

static const struct {
    const char *name, *stream;
    int64_t ttl_ns;
} buckets[] = {
    [KEEP_NAMES] = {KEEP_NAMES_BUCKET, "KV_" KEEP_NAMES_BUCKET, NAMES_TTL_NS},
    [KEEP_KEYS] = {KEEP_KEYS_BUCKET, "KV_" KEEP_KEYS_BUCKET, KEYS_TTL_NS},
};

/* --- the thread --- */

/* Buckets of this libnats may be read from any replica, and one that is behind says that a key is
 * not there. Those that were made earlier may take too little for a value, or keep it for ever. A
 * handle that was made before this stays as the bucket was, and asks for what a gateway may not
 * have. */
static natsStatus correct(jsCtx *js, enum keep_bucket bucket)
{
    jsStreamInfo *info = NULL;
    natsStatus s = js_GetStreamInfo(&info, js, buckets[bucket].stream, NULL, NULL);

    if (s == NATS_OK && (info->Config->AllowDirect || info->Config->MaxMsgSize != VALUE_BYTES ||
                         info->Config->MaxAge != buckets[bucket].ttl_ns)) {
        jsStreamConfig config = *info->Config;

        config.AllowDirect = false;
        config.MaxMsgSize = VALUE_BYTES;
        config.MaxAge = buckets[bucket].ttl_ns;
        s = js_UpdateStream(NULL, js, &config, NULL, NULL);
    }
    jsStreamInfo_Destroy(info);
    return s;
}

static natsStatus open_bucket(struct keep *k, enum keep_bucket bucket)
{
    kvStore **store = &k->stores[bucket];
    jsOptions options;
    kvConfig config;
    natsStatus s;

    if (*store)
        return NATS_OK;
    (void)jsOptions_Init(&options);
    options.Wait = WAIT_MS;
    s = k->js ? NATS_OK : natsConnection_JetStream(&k->js, bus_connection(k->bus), &options);
    if (s != NATS_OK)
        return s;
    s = correct(k->js, bucket);
    if (s == NATS_OK)
        return js_KeyValue(store, k->js, buckets[bucket].name);
    if (s != NATS_NOT_FOUND)
        return s;
    (void)kvConfig_Init(&config);
    config.Bucket = buckets[bucket].name;
    config.History = 1;
    config.MaxBytes = BUCKET_BYTES;
    config.TTL = buckets[bucket].ttl_ns;
    config.MaxValueSize = VALUE_BYTES;
    config.StorageType = js_FileStorage;
    config.Replicas = k->replicas;
    /* Another gateway may have been faster. */
    if (js_CreateKeyValue(store, k->js, &config) == NATS_OK)
        kvStore_Destroy(*store);
    *store = NULL;
    s = correct(k->js, bucket);
    return s == NATS_OK ? js_KeyValue(store, k->js, buckets[bucket].name) : s;
}

static natsStatus get(struct keep *k, struct keep_request *r)
{
    kvEntry *entry = NULL;
    natsStatus s = kvStore_Get(&entry, k->stores[r->bucket], r->key);
    size_t len = s == NATS_OK ? (size_t)kvEntry_ValueLen(entry) : 0;

    if (s == NATS_OK && len < sizeof(r->answer.node)) {
        memcpy(r->answer.node, kvEntry_Value(entry), len);
        r->answer.node[len] = '\0';
        r->answer.revision = kvEntry_Revision(entry);
        r->answer.result = id_is_node(r->answer.node) ? KEEP_FOUND : KEEP_NONE;
    } else if (s == NATS_NOT_FOUND) {
        r->answer.result = KEEP_NONE;
        s = NATS_OK;
    }
    kvEntry_Destroy(entry);
    return s;
}

static void now_ours(struct keep_request *r, uint64_t revision)
{
    r->answer.result = KEEP_FOUND;
    r->answer.is_new = true;
    r->answer.revision = revision;
    (void)snprintf(r->answer.node, sizeof(r->answer.node), "%s", r->node);
}

/* A race that is lost is an error without a code of its own: who has won is asked then. */
static natsStatus claim(struct keep *k, struct keep_request *r)
{
    uint64_t revision;
    natsStatus s = get(k, r);

    if (s != NATS_OK || r->answer.result == KEEP_FOUND)
        return s;
    if (kvStore_Create(&revision, k->stores[r->bucket], r->key, r->node, (int)strlen(r->node)) ==
        NATS_OK) {
        now_ours(r, revision);
        return NATS_OK;
    }
    return get(k, r);
}

static natsStatus take(struct keep *k, struct keep_request *r)
{
    uint64_t revision;

    if (kvStore_Update(&revision, k->stores[r->bucket], r->key, r->node, (int)strlen(r->node),
                       r->revision) == NATS_OK) {
        now_ours(r, revision);
        return NATS_OK;
    }
    return get(k, r);
}

/* If the entry is that node's still, it rests; the revision that it has now may be dropped then. */
static natsStatus begin_drop(struct keep *k, struct keep_request *r)
{
    natsStatus s = k->n_resting < RESTING_MAX ? get(k, r) : NATS_OK;

    if (r->answer.result != KEEP_FOUND || strcmp(r->answer.node, r->node) != 0)
        return s;
    r->revision = r->answer.revision;
    r->due_ns = loop_now_ns() + KEEP_REST_MS * UINT64_C(1000000);
    k->n_resting++;
    STAILQ_INSERT_TAIL(&k->resting, r, link);
    return s;
}

/* As kvStore_Delete() does it, but only if nobody has written it since. */
static natsStatus drop(struct keep *k, const struct keep_request *r)
{
    char subject[sizeof(KEEP_SUBJECTS) + KEEP_KEY_SIZE];
    jsPubOptions options;
    natsMsg *msg = NULL;
    natsStatus s;

    (void)jsPubOptions_Init(&options);
    options.MaxWait = WAIT_MS;
    options.ExpectLastSubjectSeq = r->revision;
    (void)snprintf(subject, sizeof(subject), KEEP_SUBJECTS "%s", r->key);
    s = natsMsg_Create(&msg, subject, NULL, NULL, 0);
    if (s == NATS_OK)
        s = natsMsgHeader_Set(msg, "KV-Operation", "DEL");
    if (s == NATS_OK)
        (void)js_PublishMsg(NULL, k->js, msg, &options, NULL); /* it was written: it stays */
    natsMsg_Destroy(msg);
    return s;
}

/* The loop logs: this is another thread. */
static void say_why(struct keep *k, natsStatus s)
{
    const char *last = nats_GetLastError(NULL);

    if (s == NATS_TIMEOUT || s == NATS_NO_RESPONDERS)
        last = "JetStream does not answer";
    else if (!last || !*last)
        last = natsStatus_GetText(s);
    if (*last == '(' && strstr(last, "): ")) /* "(js.c:535): " is of use to its developers */
        last = strstr(last, "): ") + 3;
    (void)pthread_mutex_lock(&k->lock);
    (void)snprintf(k->why, sizeof(k->why), "%s", last);
    (void)pthread_mutex_unlock(&k->lock);
}

/* Each question waits for its answer. Where one had none in time, those that wait behind it have
 * none, either, and are not made to wait one after the other. */
static void answer(struct keep *k, struct keep_request *r)
{
    natsStatus s;

    r->answer.result = KEEP_AWAY;
    if (loop_now_ns() < k->away_until_ns && !r->due_ns)
        return;
    s = open_bucket(k, r->bucket);
    if (s == NATS_OK && r->question == KEEP_GET)
        s = get(k, r);
    else if (s == NATS_OK && r->question == KEEP_CLAIM)
        s = claim(k, r);
    else if (s == NATS_OK && r->question == KEEP_TAKE)
        s = take(k, r);
    else if (s == NATS_OK)
        s = r->due_ns ? drop(k, r) : begin_drop(k, r);
    /* While servers begin, or a leader is chosen, nobody answers for a moment. That counts as
     * having none only where none was ever seen, and none is expected: a gateway that goes on
     * without the bucket, beside others that have it, opens a name twice. */
    if (s == NATS_NO_RESPONDERS && !k->stores[r->bucket] && k->replicas <= 1) {
        r->answer.result = KEEP_NOT_HAD;
    } else if (s != NATS_OK) {
        r->answer.result = KEEP_AWAY;
        say_why(k, s);
    }
    if (s == NATS_TIMEOUT) /* "no responders" takes no time */
        k->away_until_ns = loop_now_ns() + AWAY_NS;
}

/* Waits for what is to be done next. NULL: the process ends. */
static struct keep_request *next(struct keep *k)
{
    while (!k->is_stopping) {
        struct keep_request *r = STAILQ_FIRST(&k->asked), *due = STAILQ_FIRST(&k->resting);

        if (r) {
            STAILQ_REMOVE_HEAD(&k->asked, link);
            k->n_asked--;
            return r;
        }
        if (due && loop_now_ns() >= due->due_ns) {
            STAILQ_REMOVE_HEAD(&k->resting, link);
            k->n_resting--;
            return due;
        }
        if (due) {
            const struct timespec until = {(time_t)(due->due_ns / 1000000000),
                                           (long)(due->due_ns % 1000000000)};

            (void)pthread_cond_timedwait(&k->filled, &k->lock, &until);
        } else {
            (void)pthread_cond_wait(&k->filled, &k->lock);
        }
    }
    return NULL;
}

static void *work(void *arg)
{
    const uint64_t one = 1;
    struct keep *k = arg;
    struct keep_request *r;

    /* Before they are asked for, if that is possible now. */
    (void)open_bucket(k, KEEP_NAMES);
    (void)open_bucket(k, KEEP_KEYS);
    (void)pthread_mutex_lock(&k->lock);
    while ((r = next(k)) != NULL) {
        bool has_rested = r->due_ns != 0;

        (void)pthread_mutex_unlock(&k->lock);
        answer(k, r);
        (void)pthread_mutex_lock(&k->lock);
        if (r->due_ns && !has_rested)
            continue;
        STAILQ_INSERT_TAIL(&k->answered, r, link);
        (void)!write(k->event_fd, &one, sizeof(one));
    }
    (void)pthread_mutex_unlock(&k->lock);
    return NULL;
}

/* --- the loop --- */

static void on_answered(void *arg)
{
    struct requests list = STAILQ_HEAD_INITIALIZER(list);
    struct keep *k = arg;
    struct keep_request *r;
    char why[sizeof(k->why)];
    uint64_t count;

    (void)!read(k->event_fd, &count, sizeof(count));
    (void)pthread_mutex_lock(&k->lock);
    STAILQ_CONCAT(&list, &k->answered);
    (void)snprintf(why, sizeof(why), "%s", k->why);
    *k->why = '\0';
    (void)pthread_mutex_unlock(&k->lock);
    if (*why && (strcmp(why, k->said) != 0 || loop_now_ns() > k->said_ns + SAID_NS)) {
        memcpy(k->said, why, sizeof(k->said));
        k->said_ns = loop_now_ns();
        LOG_EVENT(LOG_WARNING, "names", {"message", why},
                  {"hint", "a server that has no room on its disk switches JetStream off: see the "
                           "log of belljar-nats; free some, then restart it"});
    }
    while ((r = STAILQ_FIRST(&list)) != NULL) {
        STAILQ_REMOVE_HEAD(&list, link);
        if (r->fn)
            r->fn(r->user, &r->answer);
        free(r);
    }
}

struct keep_request *keep_ask(struct keep *k, enum keep_bucket bucket, enum keep_question question,
                              const char *key, const char *node, uint64_t revision, keep_fn fn,
                              void *user)
{
    struct keep_request *r = calloc(1, sizeof(*r));
    const uint64_t one = 1;

    if (!r)
        return NULL;
    r->bucket = bucket;
    r->question = question;
    r->revision = revision;
    r->fn = fn;
    r->user = user;
    (void)snprintf(r->key, sizeof(r->key), "%s", key);
    (void)snprintf(r->node, sizeof(r->node), "%s", node ? node : "");
    r->answer.result = KEEP_AWAY;
    (void)pthread_mutex_lock(&k->lock);
    if (k->n_asked < WAITING_MAX) {
        k->n_asked++;
        STAILQ_INSERT_TAIL(&k->asked, r, link);
        (void)pthread_cond_signal(&k->filled);
    } else {
        STAILQ_INSERT_TAIL(&k->answered, r, link);
        (void)!write(k->event_fd, &one, sizeof(one));
    }
    (void)pthread_mutex_unlock(&k->lock);
    return r;
}

void keep_forget(struct keep_request *request)
{
    request->fn = NULL;
}

int keep_new(struct loop *loop, struct bus *bus, int replicas, struct keep **ret_keep,
             struct error *err)
{
    struct keep *k = calloc(1, sizeof(*k));
    pthread_condattr_t attr;
    sigset_t all, before;
    int r;

    if (!k)
        return error_memory(err);
    *k = (struct keep){.loop = loop, .bus = bus, .replicas = replicas};
    STAILQ_INIT(&k->asked);
    STAILQ_INIT(&k->answered);
    STAILQ_INIT(&k->resting);
    (void)pthread_mutex_init(&k->lock, NULL);
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&k->filled, &attr);
    (void)pthread_condattr_destroy(&attr);
    k->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    k->watch = k->event_fd < 0 ? NULL : loop_watch_fd(loop, k->event_fd, LOOP_READ, on_answered, k);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    r = k->watch ? pthread_create(&k->thread, NULL, work, k) : -1;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    k->has_thread = r == 0;
    if (r != 0) {
        keep_close(k);
        return error_set(err, E_SYSTEM, "no thread can be made");
    }
    *ret_keep = k;
    return 0;
}

/* What is asked is not waited for: the process ends soon. */
void keep_close(struct keep *k)
{
    if (!k)
        return;
    (void)pthread_mutex_lock(&k->lock);
    k->is_stopping = true;
    (void)pthread_cond_broadcast(&k->filled);
    (void)pthread_mutex_unlock(&k->lock);
    if (k->has_thread)
        (void)pthread_join(k->thread, NULL);
    loop_watch_free(k->watch);
    k->watch = NULL;
}
