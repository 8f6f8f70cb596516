#include "cluster/beat.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "base/json.h"

static const struct json_text_limits limits = {.bytes = BEAT_BYTES, .depth = 4};

/* What all others can represent, and what can be added up for all machines. */
#define NUMBER_MOST (INT64_C(1) << 53)

/* Two heartbeats are missing: less than what makes others give up. */
#define GAP_NS (UINT64_C(2) * CLUSTER_BEAT_MS * 1000000)

/* What was held up on the way comes within this time of the first heartbeat. */
#define LATE_NS UINT64_C(2000000000)

void beat_done(struct beat *beat)
{
    json_decref(beat->labels);
    json_decref(beat->profiles);
    json_decref(beat->environments);
    json_decref(beat->spent);
    beat->spent = beat->labels = beat->profiles = beat->environments = NULL;
}

static void add_list(json_t *object, const char *name, json_t *list)
{
    if (list)
        json_set(object, name, json_incref(list));
}

int beat_write(const struct beat *beat, bool is_node, struct buf *out, struct error *err)
{
    cleanup_json json_t *object = NULL;
    char instance[17];

    (void)snprintf(instance, sizeof(instance), "%016" PRIx64, beat->instance);
    object = json_pack("{s:i, s:s, s:s, s:s, s:I, s:I}", "v", 1, "name", beat->name, "instance",
                       instance, "version", beat->version, "clock_ms", (json_int_t)beat->clock_ms,
                       "started_ms", (json_int_t)beat->started_ms);
    if (!object)
        return error_memory(err);
    if (is_node) {
        json_set(object, "twice", json_boolean(beat->is_twice));
        json_set(object, "draining", json_boolean(beat->is_draining));
        json_set(object, "engine", json_boolean(beat->has_engine));
        json_set(object, "room", json_integer(beat->room));
        json_set(object, "running", json_integer(beat->running));
        json_set(object, "waiting", json_integer(beat->waiting));
        json_set(object, "sessions", json_integer(beat->sessions));
        json_set(object, "relays", json_integer(beat->relays));
        add_list(object, "labels", beat->labels);
        add_list(object, "profiles", beat->profiles);
        add_list(object, "environments", beat->environments);
        add_list(object, "spent", beat->spent);
    }
    if (json_text_dump(object, JSON_TEXT_COMPACT, out, err) == 0)
        return 0;
    if (!beat->spent || !is_node)
        return -1;
    (void)json_object_del(object, "spent"); /* too long: the node is there all the same */
    error_done(err);
    buf_clear(out);
    return json_text_dump(object, JSON_TEXT_COMPACT, out, err);
}

static json_t *take_list(const json_t *object, const char *name)
{
    json_t *list = json_object_get(object, name);

    return list && json_are_strings(list) ? json_incref(list) : NULL;
}

static int64_t take_number(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

bool beat_is_in_range(const json_t *object)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)object, name, value)
    {
        json_int_t number = json_integer_value(value);

        if (number > NUMBER_MOST || number < -NUMBER_MOST)
            return false;
    }
    return true;
}

static int take(const json_t *object, struct beat *beat, struct error *err)
{
    const char *name = json_get_text(object, "name");
    const char *instance = json_get_text(object, "instance");

    if (!id_is_node(name) || strlen(instance) != 16 || strspn(instance, "0123456789abcdef") != 16 ||
        take_number(object, "v") != 1)
        return error_set(err, E_INVALID, "a heartbeat without a name and an instance");
    if (!beat_is_in_range(object))
        return error_set(err, E_INVALID, "a heartbeat with a number that is out of range");
    (void)snprintf(beat->name, sizeof(beat->name), "%s", name);
    beat->instance = strtoull(instance, NULL, 16);
    (void)snprintf(beat->version, sizeof(beat->version), "%s", json_get_text(object, "version"));
    beat->clock_ms = take_number(object, "clock_ms");
    beat->started_ms = take_number(object, "started_ms");
    beat->is_twice = json_is_true(json_object_get(object, "twice"));
    beat->is_draining = json_is_true(json_object_get(object, "draining"));
    beat->has_engine = json_is_true(json_object_get(object, "engine"));
    beat->room = take_number(object, "room");
    beat->running = take_number(object, "running");
    beat->waiting = take_number(object, "waiting");
    beat->sessions = take_number(object, "sessions");
    beat->relays = take_number(object, "relays");
    beat->labels = take_list(object, "labels");
    beat->profiles = take_list(object, "profiles");
    beat->environments = take_list(object, "environments");
    beat->spent = json_incref(json_object_get(object, "spent"));
    return 0;
}

int beat_read(const char *text, size_t len, struct beat *ret_beat, struct error *err)
{
    cleanup_json json_t *object = NULL;

    *ret_beat = (struct beat){0};
    if (json_text_load(text, len, &limits, &object, err) < 0)
        return -1;
    if (!json_is_object(object))
        return error_set(err, E_INVALID, "a heartbeat is an object");
    return take(object, ret_beat, err);
}

bool beat_goes_first(const struct beat *beat, const struct beat *other)
{
    return beat->started_ms != other->started_ms ? beat->started_ms < other->started_ms
                                                 : beat->instance < other->instance;
}

bool beat_lists(const json_t *list, const char *word)
{
    size_t i;
    json_t *item;

    json_array_foreach(list, i, item)
    {
        if (strcmp(json_string_value(item), word) == 0)
            return true;
    }
    return false;
}

/* --- the table --- */

void members_init(struct members *members)
{
    *members = (struct members){0};
    TAILQ_INIT(&members->list);
}

void member_has_room(struct member *member, int64_t room)
{
    member->beat.room = room;
    member->sent = 0;
}

bool member_is_late(const struct member *m, uint64_t now_ns)
{
    return !m || now_ns > m->heard_ns + GAP_NS || now_ns < m->late_ns + LATE_NS;
}

void member_forget(struct members *members, struct member *member)
{
    TAILQ_REMOVE(&members->list, member, link);
    members->count--;
    beat_done(&member->beat);
    free(member);
}

void members_done(struct members *members)
{
    while (!TAILQ_EMPTY(&members->list))
        member_forget(members, TAILQ_FIRST(&members->list));
}

struct member *members_find(const struct members *members, const char *name)
{
    struct member *m;

    TAILQ_FOREACH(m, &members->list, link) {
        if (strcmp(m->beat.name, name) == 0)
            return m;
    }
    return NULL;
}

struct member *members_hear(struct members *members, struct beat *beat, uint64_t now_ns,
                            bool *ret_is_new)
{
    struct member *m = members_find(members, beat->name);

    bool is_late = !m || now_ns > m->heard_ns + GAP_NS;

    *ret_is_new =
        !m || (m->beat.instance != beat->instance && m->instance_before != beat->instance);
    if (!m && members->count < CLUSTER_NAMES_MAX) {
        m = calloc(1, sizeof(*m));
        if (m) {
            TAILQ_INSERT_TAIL(&members->list, m, link);
            members->count++;
        }
    }
    if (!m) {
        beat_done(beat);
        return NULL;
    }
    if (m->beat.instance != beat->instance)
        m->instance_before = m->beat.instance;
    beat_done(&m->beat);
    m->beat = *beat;
    m->heard_ns = now_ns;
    m->late_ns = is_late ? now_ns : m->late_ns;
    m->sent = 0;
    *beat = (struct beat){0};
    return m;
}

struct member *members_silent(const struct members *members, uint64_t now_ns, uint64_t ms)
{
    struct member *m;

    TAILQ_FOREACH(m, &members->list, link) {
        if (now_ns > m->heard_ns + ms * 1000000)
            return m;
    }
    return NULL;
}
