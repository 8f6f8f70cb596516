#include "wire/message.h"

#include "wire/frame.h"

#define KIB 1024u
#define MIB (1024u * KIB)

/* The source, its policy and the environment travel together; a result is two
 * texts, each cut to a megabyte where it is made (guest/report.h); more than that and what escaping
 * adds is a guest that does not keep to the rules. */
#define RUN_MAX    (8 * MIB)
#define RESULT_MAX (9 * MIB)

/* A picture that a model can look at has at most a few megabytes. */
#define DISPLAY_MAX (8 * MIB)

/* A cell brings its standard input along. */
#define CELL_MAX (66 * MIB)

#define STATE_MAX WIRE_BASH_STATE_MAX

/* A call may contain a state or a text of one megabyte; a reply may contain a few of them, but no
 * more than a program reads at once. */
#define CALL_MAX  (MIB + 64 * KIB)
#define REPLY_MAX (4 * MIB)

_Static_assert(WIRE_SPAWN_FDS + WIRE_ATTACH_MAX + WIRE_GRANTS_MAX <= FRAME_FDS,
               "a WIRE_SPAWN takes all its descriptors along");

static const struct {
    const char *name;
    uint32_t max;
} types[WIRE_TYPE_END] = {
    [WIRE_SETUP] = {"setup", 512 * KIB},
    [WIRE_SPAWN] = {"spawn", 256 * KIB},
    [WIRE_READY] = {"ready", 256 * KIB},
    [WIRE_SPAWNED] = {"spawned", 8},
    [WIRE_SPAWN_FAILED] = {"spawn_failed", 16 * KIB},
    [WIRE_GONE] = {"gone", 12},
    [WIRE_SEALED] = {"sealed", 4},
    [WIRE_FAILED] = {"failed", 16 * KIB},
    [WIRE_EXITED] = {"exited", 24},
    [WIRE_RUN] = {"run", RUN_MAX},
    [WIRE_WAITING] = {"waiting", 0},
    [WIRE_REFUSED] = {"refused", MIB},
    [WIRE_STARTED] = {"started", 0},
    [WIRE_RESULT] = {"result", RESULT_MAX},
    [WIRE_EXCEPTION] = {"exception", RESULT_MAX},
    [WIRE_DISPLAY] = {"display", DISPLAY_MAX},
    [WIRE_PROGRESS] = {"progress", 4 * KIB},
    [WIRE_KERNEL] = {"kernel", 4},
    [WIRE_SIGNAL] = {"signal", 8},
    [WIRE_SESSION] = {"session", 0},
    [WIRE_CELL] = {"cell", CELL_MAX},
    [WIRE_DONE] = {"done", 4 + 4 + WIRE_DIRECTORY_MAX},
    [WIRE_IMAGE] = {"image", 12},
    [WIRE_RESTORE] = {"restore", 64 * KIB},
    [WIRE_RESTORED] = {"restored", 0},
    [WIRE_SIGNALLED] = {"signalled", 0},
    [WIRE_SAVED] = {"saved", STATE_MAX},
    [WIRE_CALL] = {"call", CALL_MAX},
    [WIRE_REPLY] = {"reply", REPLY_MAX},
    [WIRE_REMOVE] = {"remove", 8},
    [WIRE_CONNECT] = {"connect", 4},
    [WIRE_CONNECTED] = {"connected", 4},
};

static const char *const layer_names[] = {
#define X(layer, name) [layer##_INDEX] = (name),
    WIRE_LAYERS(X)
#undef X
};

/* Interrupts come one at a time. */
#define DONE_MAX 8

/* clang-format off */
static const struct wire_rule rules[] = {
    /* channel             in this state         may send           then                  at most */
    {WIRE_CHANNEL_ZYGOTE, WIRE_STATE_STARTING, WIRE_READY,        WIRE_STATE_READY,    1},
    {WIRE_CHANNEL_ZYGOTE, WIRE_STATE_STARTING, WIRE_FAILED,       WIRE_STATE_ENDED,    1},
    {WIRE_CHANNEL_ZYGOTE, WIRE_STATE_READY,    WIRE_SPAWNED,      WIRE_STATE_READY,    0},
    {WIRE_CHANNEL_ZYGOTE, WIRE_STATE_READY,    WIRE_SPAWN_FAILED, WIRE_STATE_READY,    0},
    {WIRE_CHANNEL_ZYGOTE, WIRE_STATE_READY,    WIRE_GONE,         WIRE_STATE_READY,    0},

    {WIRE_CHANNEL_INIT,   WIRE_STATE_STARTING, WIRE_SEALED,       WIRE_STATE_READY,    1},
    {WIRE_CHANNEL_INIT,   WIRE_STATE_STARTING, WIRE_FAILED,       WIRE_STATE_ENDED,    1},
    {WIRE_CHANNEL_INIT,   WIRE_STATE_READY,    WIRE_EXITED,       WIRE_STATE_READY,    0},
    {WIRE_CHANNEL_INIT,   WIRE_STATE_READY,    WIRE_SIGNALLED,    WIRE_STATE_READY,    0},
    {WIRE_CHANNEL_INIT,   WIRE_STATE_READY,    WIRE_CONNECTED,    WIRE_STATE_READY,    0},

    {WIRE_CHANNEL_KERNEL, WIRE_STATE_STARTING, WIRE_WAITING,      WIRE_STATE_READY,    1},
    {WIRE_CHANNEL_KERNEL, WIRE_STATE_HANDED,   WIRE_FAILED,       WIRE_STATE_ENDED,    1},
    {WIRE_CHANNEL_KERNEL, WIRE_STATE_HANDED,   WIRE_REFUSED,      WIRE_STATE_ENDED,    1},
    {WIRE_CHANNEL_KERNEL, WIRE_STATE_HANDED,   WIRE_STARTED,      WIRE_STATE_RUNNING,  1},
    {WIRE_CHANNEL_KERNEL, WIRE_STATE_RUNNING,  WIRE_RESULT,       WIRE_STATE_RUNNING,  1},
    {WIRE_CHANNEL_KERNEL, WIRE_STATE_RUNNING,  WIRE_EXCEPTION,    WIRE_STATE_RUNNING,  1},
    {WIRE_CHANNEL_KERNEL, WIRE_STATE_RUNNING,  WIRE_DISPLAY,      WIRE_STATE_RUNNING,  0},
    {WIRE_CHANNEL_KERNEL, WIRE_STATE_RUNNING,  WIRE_PROGRESS,     WIRE_STATE_RUNNING,  0},
    {WIRE_CHANNEL_KERNEL, WIRE_STATE_RUNNING,  WIRE_CALL,         WIRE_STATE_RUNNING,  0},

    /* Counted per cell; the count begins anew with each cell. */
    {WIRE_CHANNEL_CELLS,  WIRE_STATE_STARTING, WIRE_WAITING,      WIRE_STATE_READY,    1},
    {WIRE_CHANNEL_CELLS,  WIRE_STATE_READY,    WIRE_FAILED,       WIRE_STATE_ENDED,    1},
    {WIRE_CHANNEL_CELLS,  WIRE_STATE_HANDED,   WIRE_FAILED,       WIRE_STATE_ENDED,    1},
    /* Of the cell before: a shell that is interrupted while it says so says it again. */
    {WIRE_CHANNEL_CELLS,  WIRE_STATE_READY,    WIRE_DONE,         WIRE_STATE_READY,    DONE_MAX},
    {WIRE_CHANNEL_CELLS,  WIRE_STATE_HANDED,   WIRE_DONE,         WIRE_STATE_HANDED,   DONE_MAX},
    {WIRE_CHANNEL_CELLS,  WIRE_STATE_SAVING,   WIRE_DONE,         WIRE_STATE_SAVING,   DONE_MAX},
    {WIRE_CHANNEL_CELLS,  WIRE_STATE_SAVING,   WIRE_SAVED,        WIRE_STATE_READY,    1},
    {WIRE_CHANNEL_CELLS,  WIRE_STATE_HANDED,   WIRE_REFUSED,      WIRE_STATE_REFUSED,  1},
    {WIRE_CHANNEL_CELLS,  WIRE_STATE_REFUSED,  WIRE_DONE,         WIRE_STATE_READY,    1},
    {WIRE_CHANNEL_CELLS,  WIRE_STATE_HANDED,   WIRE_STARTED,      WIRE_STATE_RUNNING,  1},
    {WIRE_CHANNEL_CELLS,  WIRE_STATE_HANDED,   WIRE_RESTORED,     WIRE_STATE_READY,    1},
    {WIRE_CHANNEL_CELLS,  WIRE_STATE_RUNNING,  WIRE_RESULT,       WIRE_STATE_RUNNING,  1},
    {WIRE_CHANNEL_CELLS,  WIRE_STATE_RUNNING,  WIRE_EXCEPTION,    WIRE_STATE_RUNNING,  1},
    {WIRE_CHANNEL_CELLS,  WIRE_STATE_RUNNING,  WIRE_DONE,         WIRE_STATE_READY,    DONE_MAX},
    {WIRE_CHANNEL_CELLS,  WIRE_STATE_RUNNING,  WIRE_DISPLAY,      WIRE_STATE_RUNNING,  0},
    {WIRE_CHANNEL_CELLS,  WIRE_STATE_RUNNING,  WIRE_PROGRESS,     WIRE_STATE_RUNNING,  0},
    {WIRE_CHANNEL_CELLS,  WIRE_STATE_RUNNING,  WIRE_CALL,         WIRE_STATE_RUNNING,  0},
};
/* clang-format on */

const struct wire_rule *wire_permitted(enum wire_channel channel, enum wire_state state,
                                       unsigned type, uint32_t sent)
{
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        const struct wire_rule *r = &rules[i];

        if (r->channel == channel && r->state == state && r->type == type)
            return r->max == 0 || sent < r->max ? r : NULL;
    }
    return NULL;
}

uint32_t wire_type_max(unsigned type)
{
    return type < WIRE_TYPE_END ? types[type].max : 0;
}

const char *wire_type_name(unsigned type)
{
    return type < WIRE_TYPE_END && types[type].name ? types[type].name : "unknown";
}

const char *wire_layer_name(unsigned index)
{
    return index < WIRE_LAYER_COUNT ? layer_names[index] : "unknown";
}

/* --- fields ---
 *
 * Each kind has a function that packs a field and one that reads it. */

static void pack_span(struct pack *p, const struct span *value)
{
    pack_bytes(p, value->data, value->len);
}

static void pack_strings(struct pack *p, const struct wire_strings *value)
{
    pack_u32(p, value->count);
    for (uint32_t i = 0; i < value->count; i++)
        pack_span(p, &value->items[i]);
}

static void unpack_strings(struct unpack *u, struct wire_strings *ret_value)
{
    ret_value->count = unpack_count(u, sizeof(uint32_t), WIRE_STRINGS_MAX);
    for (uint32_t i = 0; i < ret_value->count; i++)
        ret_value->items[i] = unpack_span(u);
}

static void pack_policies(struct pack *p, const struct wire_policies *value)
{
    pack_u32(p, value->count);
    for (uint32_t i = 0; i < value->count; i++)
        pack_span(p, &value->items[i]);
}

static void unpack_policies(struct unpack *u, struct wire_policies *ret_value)
{
    ret_value->count = unpack_count(u, sizeof(uint32_t), WIRE_POLICIES_MAX);
    for (uint32_t i = 0; i < ret_value->count; i++)
        ret_value->items[i] = unpack_span(u);
}

static bool unpack_flag(struct unpack *u)
{
    uint8_t byte = unpack_u8(u);

    u->failed |= byte > 1;
    return byte;
}

#define PACK_U32(name)      pack_u32(p, m->name);
#define PACK_U64(name)      pack_u64(p, m->name);
#define PACK_FLAG(name)     pack_u8(p, m->name);
#define PACK_SPAN(name)     pack_span(p, &m->name);
#define PACK_STRINGS(name)  pack_strings(p, &m->name);
#define PACK_POLICIES(name) pack_policies(p, &m->name);
#define PACK(kind, name)    PACK_##kind(name)

#define UNPACK_U32(name)      m->name = unpack_u32(u);
#define UNPACK_U64(name)      m->name = unpack_u64(u);
#define UNPACK_FLAG(name)     m->name = unpack_flag(u);
#define UNPACK_SPAN(name)     m->name = unpack_span(u);
#define UNPACK_STRINGS(name)  unpack_strings(u, &m->name);
#define UNPACK_POLICIES(name) unpack_policies(u, &m->name);
#define UNPACK(kind, name)    UNPACK_##kind(name)

/* --- messages ---
 *
 * A message is the list of its fields, in the order in which they travel, and what else must hold
 * for one that was read: both directions come from one list. */

#define MESSAGE(type, FIELDS, is_good)                                                             \
    void wire_pack_##type(struct pack *p, const struct wire_##type *m)                             \
    {                                                                                              \
        FIELDS(PACK)                                                                               \
    }                                                                                              \
    bool wire_unpack_##type(struct unpack *u, struct wire_##type *m)                               \
    {                                                                                              \
        FIELDS(UNPACK)                                                                             \
        return is_good;                                                                            \
    }

/* clang-format off */
#define SETUP(F) \
    F(SPAN, python) F(STRINGS, preload) F(STRINGS, binds) F(FLAG, warm) F(FLAG, steady) \
    F(STRINGS, modules) F(STRINGS, paths) F(STRINGS, variables) F(SPAN, directory) \
    F(POLICIES, policies)
MESSAGE(setup, SETUP, unpack_ok(u))

#define READY(F) \
    F(SPAN, python_version) F(STRINGS, missing)
MESSAGE(ready, READY, unpack_ok(u))

#define FAILURE(F) \
    F(U32, code) F(U32, errnum) F(SPAN, message) F(SPAN, hint)
MESSAGE(failure, FAILURE, unpack_ok(u))

#define EXITED(F) \
    F(U32, process) F(U32, status) F(U64, cpu_us) F(U64, max_rss_kb)
MESSAGE(exited, EXITED, unpack_ok(u) && m->process < WIRE_PROCESSES)

#define RUN(F) \
    F(U32, flags) F(U32, descriptors) F(U32, processes) F(U32, cpu_s) F(U64, file_bytes) \
    F(U64, data_bytes) F(SPAN, code) F(SPAN, policy) F(STRINGS, env) F(STRINGS, args) \
    F(U64, seed) F(SPAN, script) F(U32, language) F(U32, memory_mb) F(SPAN, directory) \
    F(U32, terminal) F(U32, known_policy)
MESSAGE(run, RUN, unpack_ok(u) && m->language <= RUN_COMMAND && m->terminal < WIRE_TERMINALS && \
        m->known_policy <= WIRE_POLICIES_MAX)

#define CELL(F) \
    F(U32, flags) F(U32, number) F(SPAN, code) F(SPAN, input) F(SPAN, language)
MESSAGE(cell, CELL, unpack_ok(u))

#define IMAGE(F) \
    F(U32, flags) F(U32, joins) F(U32, leaves)
MESSAGE(image, IMAGE, unpack_ok(u) && m->joins <= WIRE_ATTACH_MAX && m->leaves <= WIRE_ATTACH_MAX)

#define RESTORE(F) \
    F(U32, flags) F(U32, images) F(U32, cells) F(STRINGS, overlays)
MESSAGE(restore, RESTORE, unpack_ok(u) && m->images >= 1 && m->images <= WIRE_IMAGES_MAX && \
        m->overlays.count <= WIRE_COW_MAX)

#define VIOLATION(F) \
    F(SPAN, rule) F(SPAN, name) F(SPAN, message) F(SPAN, hint) F(U32, line) F(U32, column)
MESSAGE(violation, VIOLATION, !u->failed)

#define EXCEPTION(F) \
    F(SPAN, name) F(SPAN, message) F(SPAN, traceback) F(U32, line) F(U32, column) F(U32, advice) \
    F(STRINGS, names)
MESSAGE(exception, EXCEPTION, unpack_ok(u))

#define PROGRESS(F) \
    F(U64, done) F(U64, total) F(SPAN, text)
MESSAGE(progress, PROGRESS, unpack_ok(u))

#define CALL(F) \
    F(U64, id) F(SPAN, name) F(SPAN, arguments)
MESSAGE(call, CALL, unpack_ok(u) && m->name.len <= WIRE_CALL_NAME_MAX)

#define REPLY(F) \
    F(U64, id) F(FLAG, is_ok) F(SPAN, value)
MESSAGE(reply, REPLY, unpack_ok(u))

/* clang-format on */

/* --- messages with lists of their own --- */

void wire_pack_spawn(struct pack *p, const struct wire_spawn *m)
{
    pack_u64(p, m->id);
    pack_u32(p, m->uid);
    pack_u32(p, m->flags);
    pack_u64(p, m->disk_bytes);
    pack_u32(p, m->inodes);
    pack_u32(p, m->attach);
    pack_u32(p, m->n_grants);
    for (uint32_t i = 0; i < m->n_grants; i++) {
        pack_span(p, &m->grants[i].path);
        pack_u32(p, m->grants[i].mode);
    }
    pack_strings(p, &m->hidden);
    pack_span(p, &m->workdir);
}

bool wire_unpack_spawn(struct unpack *u, struct wire_spawn *m)
{
    m->id = unpack_u64(u);
    m->uid = unpack_u32(u);
    m->flags = unpack_u32(u);
    m->disk_bytes = unpack_u64(u);
    m->inodes = unpack_u32(u);
    m->attach = unpack_u32(u);
    m->n_grants = unpack_count(u, 2 * sizeof(uint32_t), WIRE_GRANTS_MAX);
    for (uint32_t i = 0; i < m->n_grants; i++) {
        m->grants[i].path = unpack_span(u);
        m->grants[i].mode = unpack_u32(u);
    }
    unpack_strings(u, &m->hidden);
    m->workdir = unpack_span(u);
    return unpack_ok(u) && m->attach <= WIRE_ATTACH_MAX;
}

void wire_pack_display(struct pack *p, const struct wire_display *m)
{
    pack_u32(p, m->count);
    for (uint32_t i = 0; i < m->count; i++) {
        pack_span(p, &m->forms[i].mime);
        pack_span(p, &m->forms[i].data);
    }
    pack_span(p, &m->metadata);
}

bool wire_unpack_display(struct unpack *u, struct wire_display *m)
{
    m->count = unpack_count(u, 2 * sizeof(uint32_t), WIRE_FORMS_MAX);
    for (uint32_t i = 0; i < m->count; i++) {
        m->forms[i].mime = unpack_span(u);
        m->forms[i].data = unpack_span(u);
    }
    m->metadata = unpack_span(u);
    return unpack_ok(u);
}
