/* Machines that share what an owner has, over a bus in memory that answers from the loop. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/loop.h"
#include "store/replica.h"
#include "store/saved_state.h"
#include "store/skill.h"

#define OWNER  "ann:1"
#define TOKEN  "bj_0123456789abcdef"
#define HOSTS  3
#define PLACES 256

/* --- the bus --- */

struct place {
    char name[96];
    struct buf data;
    uint64_t sequence;
};

struct message {
    struct message *next;
    size_t host;
    struct replica_ask ask;
    char place[96];
    struct buf data;
};

static struct loop *loop;
static struct place places[PLACES];
static uint64_t last_sequence;
static struct message *messages;
static struct loop_watch *bell;
static int status_now; /* 0: the bus works */
static int lose_swaps; /* so many are written, and their answers are lost */
static void (*on_swap)(void);
static size_t n_gets;

static struct {
    char path[64];
    struct store *store;
    struct replicas *replicas;
} hosts[HOSTS];

static struct place *find(const char *name)
{
    for (size_t i = 0; i < PLACES; i++)
        if (strcmp(places[i].name, name) == 0)
            return &places[i];
    return NULL;
}

static struct place *make_place(const char *name)
{
    struct place *p = find(name) ? find(name) : find("");

    assert_non_null(p);
    if (p->name != name)
        (void)snprintf(p->name, sizeof(p->name), "%s", name);
    return p;
}

static void put(const char *name, struct span data)
{
    struct place *p = make_place(name);

    buf_done(&p->data);
    buf_init(&p->data, MIB);
    assert_int_equal(buf_add(&p->data, data.data, data.len, NULL), 0);
    p->sequence = ++last_sequence;
}

static void purge(const char *name)
{
    for (size_t i = 0; i < PLACES; i++)
        if (strncmp(places[i].name, name, strlen(name)) == 0 &&
            places[i].name[strlen(name)] == '.') {
            buf_done(&places[i].data);
            places[i] = (struct place){0};
        }
}

static void find_all(const char *name, struct buf *out)
{
    for (size_t i = 0; i < PLACES; i++)
        if (strncmp(places[i].name, name, strlen(name)) == 0 && strstr(places[i].name, ".obj_"))
            (void)buf_printf(out, NULL, "%.30s\n", strstr(places[i].name, ".obj_") + 1);
}

static void answer(const struct message *m)
{
    struct place *p = find(m->place);
    struct span data = {buf_str(&m->data), m->data.len}, none = {"", 0};
    struct replicas *to = hosts[m->host].replicas;
    cleanup(buf_done) struct buf found = BUF_OF(MIB);
    uint64_t number = m->ask.number;
    bool is_lost;

    n_gets += m->ask.what == REPLICA_GET;
    if (status_now) {
        replicas_answer(to, number, status_now, 0, none);
        return;
    }
    switch (m->ask.what) {
    case REPLICA_GET:
        if (p)
            replicas_answer(to, number, 200, p->sequence,
                            (struct span){buf_str(&p->data), p->data.len});
        else
            replicas_answer(to, number, 404, 0, none);
        return;
    case REPLICA_PUT:
        put(m->place, data);
        replicas_answer(to, number, 200, last_sequence, none);
        return;
    case REPLICA_SWAP:
        if (on_swap)
            on_swap();
        p = find(m->place);
        if ((p ? p->sequence : 0) != m->ask.after) {
            replicas_answer(to, number, 409, 0, none);
            return;
        }
        put(m->place, data);
        is_lost = lose_swaps > 0;
        lose_swaps -= is_lost;
        replicas_answer(to, number, is_lost ? 503 : 200, last_sequence, none);
        return;
    case REPLICA_FIND:
        find_all(m->place, &found);
        replicas_answer(to, number, 200, 0, (struct span){buf_str(&found), found.len});
        return;
    default:
        purge(m->place);
    }
}

static void on_bell(void *arg)
{
    (void)arg;
    while (messages) {
        struct message *m = messages;

        messages = m->next;
        answer(m);
        buf_done(&m->data);
        free(m);
    }
}

static void send_ask(void *user, const struct replica_ask *ask)
{
    struct message *m = calloc(1, sizeof(*m)), **at = &messages;

    m->host = (size_t)(uintptr_t)user;
    m->ask = *ask;
    (void)snprintf(m->place, sizeof(m->place), "%s", ask->place);
    buf_init(&m->data, MIB);
    assert_int_equal(buf_add(&m->data, ask->data.data ? ask->data.data : "", ask->data.len, NULL),
                     0);
    while (*at)
        at = &(*at)->next;
    *at = m;
    loop_timer_start(bell, 0);
}

/* --- machines --- */

static void remove_files(const char *path)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    char name[512];

    for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
        (void)snprintf(name, sizeof(name), "%s%s", path, ends[i]);
        (void)unlink(name);
    }
}

static void connect_host(size_t h, bool is_connected)
{
    const struct replica_port port = {.send = send_ask, .user = (void *)(uintptr_t)h};

    replicas_connect(hosts[h].replicas, is_connected ? &port : NULL);
}

static void open_host(size_t h)
{
    hosts[h].store = store_new(hosts[h].path);
    assert_int_equal(replicas_new(loop, hosts[h].store, &hosts[h].replicas, NULL), 0);
    connect_host(h, true);
}

static void close_host(size_t h)
{
    replicas_free(hosts[h].replicas);
    store_free(hosts[h].store);
}

static void learn(size_t h)
{
    replicas_learn(hosts[h].replicas, OWNER, (struct span){TOKEN, strlen(TOKEN)});
}

static int set_up(void **state)
{
    (void)state;
    loop = loop_new(NULL);
    bell = loop_timer(loop, on_bell, NULL);
    for (size_t h = 0; h < HOSTS; h++) {
        (void)snprintf(hosts[h].path, sizeof(hosts[h].path), "/tmp/belljar-replica-%d-%zu",
                       (int)getpid(), h);
        remove_files(hosts[h].path);
        open_host(h);
        learn(h);
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (size_t h = 0; h < HOSTS; h++) {
        close_host(h);
        remove_files(hosts[h].path);
    }
    for (size_t i = 0; i < PLACES; i++)
        buf_done(&places[i].data);
    memset(places, 0, sizeof(places));
    loop_watch_free(bell);
    loop_free(loop);
    status_now = lose_swaps = 0;
    on_swap = NULL;
    return 0;
}

/* --- what is done on them --- */

struct work {
    struct replica_wait wait;
    size_t host;
    const char *text, *owner;
    enum { CREATE, SAVE, DELETE, SKILL, UNDO, DROP_SKILL, FOLDER } what;
    int64_t version;
    bool is_over;
    enum error_code code;
};

static int make_folder(struct skill_bundle *folder, const char *name)
{
    char head[128];

    (void)snprintf(head, sizeof(head), "---\nname: %s\ndescription: files\n---\nRead it.\n", name);
    if (skill_bundle_add(folder, span_of("SKILL.md"), span_of(head), false, NULL) < 0 ||
        skill_bundle_add(folder, span_of("bin/run.sh"), span_of("echo\n"), true, NULL) < 0)
        return -1;
    return skill_bundle_finish(folder, NULL);
}

static int make(struct replica_wait *wait, struct error *err)
{
    struct work *w = (struct work *)wait;
    struct store *store = hosts[w->host].store;
    cleanup(skill_bundle_done) struct skill_bundle folder = {0};
    struct span text = span_of(w->text ? w->text : "");
    bool is_new;

    switch (w->what) {
    case CREATE:
        return saved_state_create(store, w->owner, wait->name, w->text, &is_new, err);
    case SAVE:
        return saved_state_save(store, w->owner, wait->name, text, -1, &w->version, err);
    case DELETE:
        return saved_state_delete(store, w->owner, wait->name, err);
    case SKILL:
        return skill_save(store, w->owner, wait->name, text, "about it", &w->version, err);
    case UNDO:
        return skill_undo(store, w->owner, wait->name, &w->version, err);
    case FOLDER:
        assert_int_equal(make_folder(&folder, wait->name), 0);
        return skill_save_folder(store, w->owner, &folder, &w->version, err);
    default:
        return skill_delete(store, w->owner, wait->name, err);
    }
}

static void done(struct replica_wait *wait, struct error *err)
{
    struct work *w = (struct work *)wait;

    w->is_over = true;
    w->code = err->code;
    error_done(err);
    loop_stop(loop);
}

static void begin(struct work *w)
{
    w->owner = w->owner ? w->owner : OWNER;
    w->wait.make = make;
    w->wait.done = done;
    replica_change(hosts[w->host].store, w->owner, &w->wait);
}

static void finish(struct work *w)
{
    while (!w->is_over)
        assert_int_equal(loop_run(loop, NULL), 0);
}

#define WORK(host_, what_, name_, text_)                                                           \
    {                                                                                              \
        .host = (host_), .what = (what_), .text = (text_), .wait = {                               \
            .kind = (what_) <= DELETE ? REPLICA_STATE : REPLICA_SKILL,                             \
            .name = name_                                                                          \
        }                                                                                          \
    }

/* Returns the version, or minus the code of the error. */
#define CHANGE(host, what, name, text)                                                             \
    ({                                                                                             \
        struct work w_ = WORK(host, what, name, text);                                             \
        begin(&w_);                                                                                \
        finish(&w_);                                                                               \
        w_.code == E_NONE ? (int)w_.version : -(int)w_.code;                                       \
    })

static void read_on(size_t host)
{
    struct work w = {.host = host, .wait = {.done = done}};

    replica_read(hosts[host].store, OWNER, &w.wait);
    finish(&w);
}

/* The state of a version there, or "". The caller frees it. */
static char *state_on(size_t host, const char *name, int64_t version)
{
    cleanup_json json_t *work = NULL;

    read_on(host);
    if (saved_state_load(hosts[host].store, OWNER, name, version, &work, NULL) < 0)
        return strdup("");
    return json_dumps(json_object_get(work, "state"), JSON_COMPACT);
}

#define assert_state(host, name, version, expected)                                                \
    do {                                                                                           \
        cleanup_free char *text_ = state_on(host, name, version);                                  \
        assert_string_equal(text_, expected);                                                      \
    } while (0)

static char *skill_on(size_t host, const char *name)
{
    cleanup_json json_t *skill = NULL;

    read_on(host);
    if (skill_load(hosts[host].store, OWNER, name, 0, &skill, NULL) < 0)
        return strdup("");
    return strdup(json_get_text(skill, "code"));
}

#define assert_skill(host, name, expected)                                                         \
    do {                                                                                           \
        cleanup_free char *text_ = skill_on(host, name);                                           \
        assert_string_equal(text_, expected);                                                      \
    } while (0)

static size_t count_places(void)
{
    size_t n = 0;

    for (size_t i = 0; i < PLACES; i++)
        n += *places[i].name != '\0';
    return n;
}

static struct place *list_place(void)
{
    for (size_t i = 0; i < PLACES; i++)
        if (strlen(places[i].name) > 5 &&
            strcmp(places[i].name + strlen(places[i].name) - 5, ".list") == 0)
            return &places[i];
    return NULL;
}

/* --- tests --- */

TEST_WITH(what_one_machine_saves_all_have, set_up, tear_down)
{
    assert_int_equal(CHANGE(0, CREATE, "plan", "about"), 0);
    assert_int_equal(CHANGE(0, SAVE, "plan", "{\"a\":1}"), 1);
    assert_int_equal(CHANGE(1, SAVE, "plan", "{\"a\":2}"), 2);
    for (size_t h = 0; h < HOSTS; h++) {
        assert_state(h, "plan", 0, "{\"a\":2}");
        assert_state(h, "plan", 1, "{\"a\":1}");
    }
    assert_int_equal(CHANGE(2, SKILL, "clean", "x = 1\n"), 1);
    assert_int_equal(CHANGE(0, SKILL, "clean", "x = 2\n"), 2);
    assert_skill(1, "clean", "x = 2\n");
    assert_int_equal(CHANGE(1, UNDO, "clean", NULL), 1);
    assert_skill(2, "clean", "x = 1\n");
    assert_int_equal(CHANGE(2, SKILL, "clean", "x = 3\n"), 2);
    assert_skill(0, "clean", "x = 3\n");
    assert_int_equal(CHANGE(1, DROP_SKILL, "clean", NULL), 0);
    assert_skill(0, "clean", "");
    assert_int_equal(CHANGE(1, DELETE, "plan", NULL), 0);
    assert_state(0, "plan", 0, "");
    assert_int_equal(CHANGE(0, DELETE, "plan", NULL), -E_NOT_FOUND);
    /* Nothing is left of it but the list. */
    assert_int_equal(count_places(), 1);
}

TEST_WITH(a_folder_goes_with_all_its_files, set_up, tear_down)
{
    cleanup(skill_bundle_done) struct skill_bundle folder = {0};

    assert_int_equal(CHANGE(0, FOLDER, "tools", NULL), 1);
    read_on(1);
    assert_int_equal(skill_open(hosts[1].store, OWNER, "tools", 0, &folder, NULL), 0);
    assert_int_equal(folder.count, 2);
    assert_true(skill_bundle_find(&folder, "bin/run.sh")->is_executable);
    assert_string_equal(folder.description, "files");
}

TEST_WITH(all_that_is_read_is_the_last, set_up, tear_down)
{
    (void)CHANGE(0, CREATE, "n", NULL);
    for (int i = 1; i <= 12; i++) {
        char text[32];

        (void)snprintf(text, sizeof(text), "{\"n\":%d}", i);
        assert_int_equal(CHANGE((size_t)i % HOSTS, SAVE, "n", text), i);
        assert_state((size_t)(i + 1) % HOSTS, "n", 0, text);
    }
    /* A read is one question if nothing has changed. */
    read_on(0);
    n_gets = 0;
    read_on(0);
    assert_int_equal(n_gets, 1);
}

TEST_WITH(of_two_at_once_both_get_a_version, set_up, tear_down)
{
    struct work work[HOSTS * 4];
    bool seen[HOSTS * 4 + 1] = {false};

    (void)CHANGE(0, CREATE, "n", NULL);
    for (size_t i = 0; i < ARRAY_SIZE(work); i++) {
        work[i] = (struct work)WORK(i % HOSTS, SAVE, "n", "{}");
        begin(&work[i]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(work); i++) {
        finish(&work[i]);
        assert_int_equal(work[i].code, E_NONE);
        assert_in_range(work[i].version, 1, ARRAY_SIZE(work));
        assert_false(seen[work[i].version]);
        seen[work[i].version] = true;
    }
}

TEST_WITH(what_is_too_old_goes_everywhere, set_up, tear_down)
{
    for (int i = 1; i <= LIMIT_SKILL_VERSIONS + 3; i++)
        assert_int_equal(CHANGE((size_t)i % HOSTS, SKILL, "many", "x = 1\n"), i);
    for (size_t h = 0; h < HOSTS; h++) {
        cleanup_json json_t *skill = NULL;

        read_on(h);
        assert_int_equal(skill_load(hosts[h].store, OWNER, "many", 0, &skill, NULL), 0);
        assert_int_equal(json_array_size(json_object_get(skill, "versions")), LIMIT_SKILL_VERSIONS);
    }
    /* Contents, the item and the list. */
    assert_int_equal(count_places(), LIMIT_SKILL_VERSIONS + 2);
}

TEST_WITH(while_the_bus_is_away_it_is_read_and_not_changed, set_up, tear_down)
{
    (void)CHANGE(0, CREATE, "n", NULL);
    (void)CHANGE(0, SAVE, "n", "{\"a\":1}");
    read_on(1);
    status_now = 503;
    assert_state(1, "n", 0, "{\"a\":1}");
    assert_int_equal(CHANGE(1, SAVE, "n", "{}"), -E_BUSY);
    connect_host(0, false);
    assert_int_equal(CHANGE(0, SAVE, "n", "{}"), -E_BUSY);
    status_now = 507;
    connect_host(1, true);
    assert_int_equal(CHANGE(1, SAVE, "n", "{}"), -E_TOO_LARGE);
    status_now = 501;
    assert_int_equal(CHANGE(1, SAVE, "n", "{}"), -E_UNSUPPORTED);
    status_now = 0;
    assert_int_equal(CHANGE(1, SAVE, "n", "{\"a\":2}"), 2);
}

TEST_WITH(an_answer_that_is_lost_makes_nothing_twice, set_up, tear_down)
{
    (void)CHANGE(0, CREATE, "n", NULL);
    lose_swaps = 1;
    assert_int_equal(CHANGE(0, SAVE, "n", "{\"a\":1}"), 1);
    assert_state(0, "n", 0, "{\"a\":1}");
    assert_state(1, "n", 2, "");
    lose_swaps = 1;
    assert_int_equal(CHANGE(0, DELETE, "n", NULL), 0);
}

static void on_faster(void)
{
    on_swap = NULL;
    list_place()->sequence = ++last_sequence;
}

TEST_WITH(who_was_slower_does_it_again, set_up, tear_down)
{
    size_t before;

    (void)CHANGE(0, CREATE, "n", NULL);
    before = count_places();
    on_swap = on_faster;
    assert_int_equal(CHANGE(0, SAVE, "n", "{\"a\":1}"), 1);
    assert_state(2, "n", 0, "{\"a\":1}");
    assert_int_equal(count_places(), before + 1);
}

TEST_WITH(what_was_here_before_all_get, set_up, tear_down)
{
    bool is_new;
    int64_t version;

    close_host(0);
    hosts[0].store = store_new(hosts[0].path);
    for (int i = 0; i < 3; i++)
        assert_int_equal(
            skill_save(hosts[0].store, OWNER, "old", span_of("y = 1\n"), NULL, &version, NULL), 0);
    assert_int_equal(saved_state_create(hosts[0].store, OWNER, "empty", "d", &is_new, NULL), 0);
    store_free(hosts[0].store);
    (void)CHANGE(1, CREATE, "theirs", NULL);
    open_host(0);
    learn(0);
    read_on(0);
    for (size_t h = 0; h < HOSTS; h++) {
        assert_skill(h, "old", "y = 1\n");
        assert_state(h, "empty", 0, "{}");
        assert_state(h, "theirs", 0, "{}");
    }
}

TEST_WITH(what_is_shared_is_not_changed_on_one_machine, set_up, tear_down)
{
    struct store *alone;
    struct error err = {0};
    int64_t version;

    (void)CHANGE(0, CREATE, "n", NULL);
    alone = store_new(hosts[0].path);
    assert_int_equal(saved_state_save(alone, OWNER, "n", span_of("{}"), -1, &version, &err), -1);
    assert_int_equal(err.code, E_DENIED);
    error_done(&err);
    assert_int_equal(skill_save(alone, OWNER, "s", span_of("1\n"), NULL, &version, NULL), -1);
    assert_int_equal(skill_save(alone, "bob", "s", span_of("1\n"), NULL, &version, NULL), 0);
    assert_int_equal(replicas_leave(alone, NULL), 0);
    assert_int_equal(saved_state_save(alone, OWNER, "n", span_of("{}"), -1, &version, NULL), 0);
    store_free(alone);
}

TEST_WITH(who_has_no_token_reads_and_makes_nothing, set_up, tear_down)
{
    struct place *list;

    (void)CHANGE(0, CREATE, "secretname", NULL);
    (void)CHANGE(0, SAVE, "secretname", "{\"a\":\"secretword\"}");
    for (size_t i = 0; i < PLACES; i++) {
        const struct buf *data = &places[i].data;

        assert_null(data->len ? memmem(data->data, data->len, "secret", 6) : NULL);
        assert_null(strstr(places[i].name, "secret"));
    }
    /* Every byte counts; who has had the list puts it back. */
    list = list_place();
    for (size_t i = 0; i < list->data.len; i += 7) {
        list_place()->data.data[i] ^= 1;
        assert_state(0, "secretname", 0, "{\"a\":\"secretword\"}");
        assert_state(1, "secretname", 0, "{\"a\":\"secretword\"}");
    }
    put(list_place()->name, span_of("{\"serial\":9999999999999,\"items\":{}}"));
    assert_state(2, "secretname", 0, ""); /* it has never had it */
    assert_int_equal(CHANGE(2, CREATE, "other", NULL), -E_PROTOCOL);
    assert_state(1, "secretname", 0, "{\"a\":\"secretword\"}");
    assert_state(2, "secretname", 0, "{\"a\":\"secretword\"}");
}

TEST_WITH(an_older_list_is_refused, set_up, tear_down)
{
    cleanup(buf_done) struct buf old = BUF_OF(MIB);

    (void)CHANGE(0, CREATE, "n", NULL);
    (void)CHANGE(0, SAVE, "n", "{\"a\":1}");
    assert_int_equal(buf_add(&old, buf_str(&list_place()->data), list_place()->data.len, NULL), 0);
    (void)CHANGE(0, SAVE, "n", "{\"a\":2}");
    put(list_place()->name, (struct span){buf_str(&old), old.len});
    assert_state(0, "n", 0, "{\"a\":2}");
    assert_state(1, "n", 0, "{\"a\":2}");
}

TEST_WITH(a_machine_that_knows_less_takes_nothing_back, set_up, tear_down)
{
    (void)CHANGE(0, CREATE, "n", NULL);
    (void)CHANGE(0, SAVE, "n", "{\"a\":1}");
    read_on(1);
    (void)CHANGE(0, SAVE, "n", "{\"a\":2}");
    put(list_place()->name, span_of("rubbish"));
    assert_state(1, "n", 0, "{\"a\":1}"); /* and it publishes that */
    assert_state(2, "n", 0, "{\"a\":1}");
    assert_state(0, "n", 0, "{\"a\":2}");
    assert_state(1, "n", 0, "{\"a\":2}");
    assert_state(2, "n", 0, "{\"a\":2}");
}

TEST_WITH(what_was_moved_is_not_believed, set_up, tear_down)
{
    struct place *list;

    (void)CHANGE(0, SKILL, "one", "x = 1\n");
    (void)CHANGE(0, SKILL, "two", "x = 2\n");
    list = list_place();
    /* All objects change places. */
    for (size_t i = 0; i + 1 < PLACES; i++)
        if (*places[i].name && &places[i] != list && *places[i + 1].name &&
            &places[i + 1] != list) {
            struct buf data = places[i].data;

            places[i].data = places[i + 1].data;
            places[i + 1].data = data;
        }
    assert_skill(1, "one", "");
    assert_int_equal(CHANGE(1, SKILL, "three", "x = 3\n"), -E_PROTOCOL);
    assert_skill(0, "one", "x = 1\n");
}

TEST_WITH(a_bus_that_lost_all_gets_it_again, set_up, tear_down)
{
    (void)CHANGE(0, SKILL, "one", "x = 1\n");
    (void)CHANGE(0, CREATE, "n", NULL);
    (void)CHANGE(0, SAVE, "n", "{\"a\":1}");
    for (size_t i = 0; i < PLACES; i++)
        buf_done(&places[i].data);
    memset(places, 0, sizeof(places));
    assert_skill(1, "one", ""); /* it knows nothing of it */
    assert_skill(0, "one", "x = 1\n");
    assert_skill(1, "one", "x = 1\n");
    assert_state(2, "n", 0, "{\"a\":1}");
}

TEST_WITH(what_no_list_names_goes_after_a_while, set_up, tear_down)
{
    char old[96], young[96], id[ID_PLAIN_SIZE];
    size_t before;

    (void)CHANGE(0, SKILL, "one", "x = 1\n");
    before = count_places();
    assert_int_equal(id_make_plain(id, "obj_"), 0);
    (void)snprintf(old, sizeof(old), "%.24s.obj_01K7TRNM683325A810PT8CAZNF.0", list_place()->name);
    (void)snprintf(young, sizeof(young), "%.24s.%s.0", list_place()->name, id);
    put(old, span_of("left"));
    put(young, span_of("on its way"));
    read_on(1); /* its first */
    read_on(1);
    assert_int_equal(count_places(), before + 1);
    assert_non_null(find(young));
    assert_skill(2, "one", "x = 1\n");
}

TEST_WITH(who_does_not_wait_any_more_is_not_told, set_up, tear_down)
{
    struct work first = WORK(0, CREATE, "n", NULL), second = WORK(0, SAVE, "n", "{}"),
                third = WORK(0, SAVE, "n", "{}");

    begin(&first);
    begin(&second);
    begin(&third);
    replica_forget(&second.wait);
    finish(&third);
    assert_true(first.is_over && !second.is_over);
    assert_int_equal(third.version, 1);
    replica_forget(&second.wait);
}

TEST_WITH(who_is_not_known_is_on_one_machine_alone, set_up, tear_down)
{
    struct work w = WORK(0, CREATE, "n", NULL);

    w.owner = "bob:2";
    begin(&w);
    assert_true(w.is_over);
    assert_int_equal(w.code, E_NONE);
    assert_int_equal(count_places(), 0);
}

TEST_WITH(a_removed_token_leaves_nothing_here, set_up, tear_down)
{
    struct store *alone;
    json_t *list = NULL;

    (void)CHANGE(0, CREATE, "n", NULL);
    read_on(1);
    replicas_drop(hosts[1].replicas, OWNER);
    alone = store_new(hosts[1].path);
    assert_int_equal(saved_state_list(alone, OWNER, &list, NULL), 0);
    assert_int_equal(json_array_size(list), 0);
    json_decref(list);
    store_free(alone);
    learn(1);
    assert_state(1, "n", 0, "{}");
}

static int refused(enum replica_kind kind, const char *name, const char *text)
{
    struct replica_item item = {0};
    int r = replica_item_parse(kind, name, span_of(text), &item, NULL);

    replica_item_done(&item);
    return r;
}

#define ID "obj_01M7TRNM683325A810PT8CAZNF"

TEST(items_of_a_stranger_are_checked)
{
    static const char good[] = "{\"versions\":[{\"v\":2,\"time\":\"2026\",\"bytes\":1,\"id\":\"" ID
                               "\",\"pieces\":1}],\"created\":\"\",\"updated\":\"\",\"last\":2}";
    static const char *const bad[] = {
        "",
        "[]",
        "{}",
        "{\"versions\":[]}",
        "{\"versions\":[{\"v\":2,\"time\":\"2026\",\"bytes\":1,\"id\":\"" ID "\",\"pieces\":99}],"
        "\"created\":\"\",\"updated\":\"\",\"last\":2}",
        "{\"versions\":[{\"v\":2,\"time\":\"2026\",\"bytes\":1,\"id\":\"obj_../x\",\"pieces\":1}],"
        "\"created\":\"\",\"updated\":\"\",\"last\":2}",
        "{\"versions\":[{\"v\":-2,\"time\":\"2026\",\"bytes\":1,\"id\":\"" ID "\",\"pieces\":1}],"
        "\"created\":\"\",\"updated\":\"\",\"last\":-2}",
        "{\"versions\":[{\"v\":2,\"time\":\"<b>\",\"bytes\":1,\"id\":\"" ID "\",\"pieces\":1}],"
        "\"created\":\"\",\"updated\":\"\",\"last\":2}",
        "{\"versions\":[{\"v\":2,\"time\":\"2026\",\"bytes\":1,\"id\":\"" ID "\",\"pieces\":1},"
        "{\"v\":2,\"time\":\"2026\",\"bytes\":1,\"id\":\"" ID "\",\"pieces\":1}],"
        "\"created\":\"\",\"updated\":\"\",\"last\":2}",
    };

    assert_int_equal(refused(REPLICA_STATE, "n", good), 0);
    assert_int_equal(refused(REPLICA_SKILL, "n", good), 0);
    assert_int_equal(refused(REPLICA_STATE, "../n", good), -1);
    assert_int_equal(refused(REPLICA_SKILL, "import", good), -1);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_int_equal(refused(REPLICA_STATE, "n", bad[i]), -1);
}

TEST(contents_of_a_stranger_are_checked)
{
    static const struct {
        enum replica_kind kind;
        const char *data;
        size_t len;
        int expected;
    } rows[] = {
        {REPLICA_STATE, "{}", 2, 0},
        {REPLICA_STATE, "[]", 2, -1},
        {REPLICA_STATE, "{},\"x\":1", 8, -1},
        {REPLICA_SKILL, "\0\1\0\0\0x", 6, 0},
        {REPLICA_SKILL, "\0\2\0\0\0x", 6, -1},
        {REPLICA_SKILL, "\0\1\0\0\0\0", 6, -1},
        {REPLICA_SKILL, "", 0, -1},
        {REPLICA_SKILL, "\1\377\377\377\377", 5, -1},
        {REPLICA_SKILL, "\1\1\0\0\0\4\0\0\0../x\0\0\0\0\0", 18, -1},
        {REPLICA_SKILL, "\1\0\0\0\0", 5, -1},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_int_equal(
            replica_item_check(rows[i].kind, (struct span){rows[i].data, rows[i].len}, NULL),
            rows[i].expected);
}

UNIT_MAIN()
