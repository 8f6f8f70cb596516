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

/* What a program asks for has a state of a megabyte in it, or text of that size; what it gets has a
 * few of them, and no more than a program reads at once. */
#define CALL_MAX  (MIB + 64 * KIB)
#define REPLY_MAX (4 * MIB)

_Static_assert(WIRE_SPAWN_FDS + WIRE_ATTACH_MAX + WIRE_GRANTS_MAX <= FRAME_FDS,
               "a WIRE_SPAWN takes all its descriptors along");

static const struct {
    const char *name;
    uint32_t max;
} types[WIRE_TYPE_END] = {
    [WIRE_SETUP] = {"setup",        256 * KIB  },
    [WIRE_SPAWN] = {"spawn",        256 * KIB  },
    [WIRE_READY] = {"ready",        256 * KIB  },
    [WIRE_SPAWNED] = {"spawned",      8          },
    [WIRE_SPAWN_FAILED] = {"spawn_failed", 16 * KIB   },
    [WIRE_GONE] = {"gone",         12         },
    [WIRE_SEALED] = {"sealed",       4          },
    [WIRE_FAILED] = {"failed",       16 * KIB   },
    [WIRE_EXITED] = {"exited",       24         },
    [WIRE_RUN] = {"run",          RUN_MAX    },
    [WIRE_WAITING] = {"waiting",      0          },
    [WIRE_REFUSED] = {"refused",      MIB        },
    [WIRE_STARTED] = {"started",      0          },
    [WIRE_RESULT] = {"result",       RESULT_MAX },
    [WIRE_EXCEPTION] = {"exception",    RESULT_MAX },
    [WIRE_DISPLAY] = {"display",      DISPLAY_MAX},
    [WIRE_PROGRESS] = {"progress",     4 * KIB    },
    [WIRE_KERNEL] = {"kernel",       4          },
    [WIRE_SIGNAL] = {"signal",       8          },
    [WIRE_SESSION] = {"session",      0          },
    [WIRE_CELL] = {"cell",         CELL_MAX   },
    [WIRE_DONE] = {"done",         4          },
    [WIRE_IMAGE] = {"image",        12         },
    [WIRE_RESTORE] = {"restore",      12         },
    [WIRE_RESTORED] = {"restored",     0          },
    [WIRE_SIGNALLED] = {"signalled",    0          },
    [WIRE_SAVED] = {"saved",        STATE_MAX  },
    [WIRE_CALL] = {"call",         CALL_MAX   },
    [WIRE_REPLY] = {"reply",        REPLY_MAX  },
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

    {WIRE_CHANNEL_KERNEL, WIRE_STATE_STARTING, WIRE_WAITING,      WIRE_STATE_READY,    1},
    {WIRE_CHANNEL_KERNEL, WIRE_STATE_HANDED,   WIRE_FAILED,       WIRE_STATE_ENDED,    1},
    {WIRE_CHANNEL_KERNEL, WIRE_STATE_HANDED,   WIRE_REFUSED,      WIRE_STATE_ENDED,    1},
    {WIRE_CHANNEL_KERNEL, WIRE_STATE_HANDED,   WIRE_STARTED,      WIRE_STATE_RUNNING,  1},
    {WIRE_CHANNEL_KERNEL, WIRE_STATE_RUNNING,  WIRE_RESULT,       WIRE_STATE_RUNNING,  1},
    {WIRE_CHANNEL_KERNEL, WIRE_STATE_RUNNING,  WIRE_EXCEPTION,    WIRE_STATE_RUNNING,  1},
    {WIRE_CHANNEL_KERNEL, WIRE_STATE_RUNNING,  WIRE_DISPLAY,      WIRE_STATE_RUNNING,  0},
    {WIRE_CHANNEL_KERNEL, WIRE_STATE_RUNNING,  WIRE_PROGRESS,     WIRE_STATE_RUNNING,  0},
    {WIRE_CHANNEL_KERNEL, WIRE_STATE_RUNNING,  WIRE_CALL,         WIRE_STATE_RUNNING,  0},

    /* How often: in one cell; the count begins anew with each. */
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

static void pack_span(struct pack *p, struct span s)
{
    pack_bytes(p, s.data, s.len);
}

static void pack_strings(struct pack *p, const struct wire_strings *s)
{
    pack_u32(p, s->count);
    for (uint32_t i = 0; i < s->count; i++)
        pack_span(p, s->items[i]);
}

static void unpack_strings(struct unpack *u, struct wire_strings *s)
{
    s->count = unpack_count(u, sizeof(uint32_t), WIRE_STRINGS_MAX);
    for (uint32_t i = 0; i < s->count; i++)
        s->items[i] = unpack_span(u);
}

void wire_pack_setup(struct pack *p, const struct wire_setup *m)
{
    pack_span(p, m->python);
    pack_strings(p, &m->preload);
    pack_strings(p, &m->binds);
    pack_u8(p, m->warm);
    pack_u8(p, m->steady);
    pack_strings(p, &m->modules);
    pack_strings(p, &m->paths);
    pack_strings(p, &m->variables);
}

bool wire_unpack_setup(struct unpack *u, struct wire_setup *m)
{
    m->python = unpack_span(u);
    unpack_strings(u, &m->preload);
    unpack_strings(u, &m->binds);
    m->warm = unpack_u8(u);
    m->steady = unpack_u8(u);
    unpack_strings(u, &m->modules);
    unpack_strings(u, &m->paths);
    unpack_strings(u, &m->variables);
    return unpack_ok(u);
}

void wire_pack_ready(struct pack *p, const struct wire_ready *m)
{
    pack_span(p, m->python_version);
    pack_strings(p, &m->missing);
}

bool wire_unpack_ready(struct unpack *u, struct wire_ready *m)
{
    m->python_version = unpack_span(u);
    unpack_strings(u, &m->missing);
    return unpack_ok(u);
}

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
        pack_span(p, m->grants[i].path);
        pack_u32(p, m->grants[i].mode);
    }
    pack_strings(p, &m->hidden);
    pack_span(p, m->workdir);
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

void wire_pack_failure(struct pack *p, const struct wire_failure *m)
{
    pack_u32(p, m->code);
    pack_u32(p, m->errnum);
    pack_span(p, m->message);
    pack_span(p, m->hint);
}

bool wire_unpack_failure(struct unpack *u, struct wire_failure *m)
{
    m->code = unpack_u32(u);
    m->errnum = unpack_u32(u);
    m->message = unpack_span(u);
    m->hint = unpack_span(u);
    return unpack_ok(u);
}

void wire_pack_exited(struct pack *p, const struct wire_exited *m)
{
    pack_u32(p, m->kernel);
    pack_u32(p, m->status);
    pack_u64(p, m->cpu_us);
    pack_u64(p, m->max_rss_kb);
}

bool wire_unpack_exited(struct unpack *u, struct wire_exited *m)
{
    m->kernel = unpack_u32(u);
    m->status = unpack_u32(u);
    m->cpu_us = unpack_u64(u);
    m->max_rss_kb = unpack_u64(u);
    return unpack_ok(u) && m->kernel < WIRE_KERNELS;
}

void wire_pack_run(struct pack *p, const struct wire_run *m)
{
    pack_u32(p, m->flags);
    pack_u32(p, m->descriptors);
    pack_u32(p, m->processes);
    pack_u32(p, m->cpu_s);
    pack_u64(p, m->file_bytes);
    pack_u64(p, m->data_bytes);
    pack_span(p, m->code);
    pack_span(p, m->policy);
    pack_strings(p, &m->env);
    pack_strings(p, &m->args);
    pack_u64(p, m->seed);
}

bool wire_unpack_run(struct unpack *u, struct wire_run *m)
{
    m->flags = unpack_u32(u);
    m->descriptors = unpack_u32(u);
    m->processes = unpack_u32(u);
    m->cpu_s = unpack_u32(u);
    m->file_bytes = unpack_u64(u);
    m->data_bytes = unpack_u64(u);
    m->code = unpack_span(u);
    m->policy = unpack_span(u);
    unpack_strings(u, &m->env);
    unpack_strings(u, &m->args);
    m->seed = unpack_u64(u);
    return unpack_ok(u);
}

void wire_pack_cell(struct pack *p, const struct wire_cell *m)
{
    pack_u32(p, m->flags);
    pack_u32(p, m->number);
    pack_span(p, m->code);
    pack_span(p, m->input);
}

bool wire_unpack_cell(struct unpack *u, struct wire_cell *m)
{
    m->flags = unpack_u32(u);
    m->number = unpack_u32(u);
    m->code = unpack_span(u);
    m->input = unpack_span(u);
    return unpack_ok(u);
}

void wire_pack_image(struct pack *p, const struct wire_image *m)
{
    pack_u32(p, m->flags);
    pack_u32(p, m->joins);
    pack_u32(p, m->leaves);
}

bool wire_unpack_image(struct unpack *u, struct wire_image *m)
{
    m->flags = unpack_u32(u);
    m->joins = unpack_u32(u);
    m->leaves = unpack_u32(u);
    return unpack_ok(u) && m->joins <= WIRE_ATTACH_MAX && m->leaves <= WIRE_ATTACH_MAX;
}

void wire_pack_restore(struct pack *p, const struct wire_restore *m)
{
    pack_u32(p, m->flags);
    pack_u32(p, m->images);
    pack_u32(p, m->cells);
}

bool wire_unpack_restore(struct unpack *u, struct wire_restore *m)
{
    m->flags = unpack_u32(u);
    m->images = unpack_u32(u);
    m->cells = unpack_u32(u);
    return unpack_ok(u) && m->images >= 1 && m->images <= WIRE_IMAGES_MAX;
}

void wire_pack_violation(struct pack *p, const struct wire_violation *m)
{
    pack_span(p, m->rule);
    pack_span(p, m->name);
    pack_span(p, m->message);
    pack_span(p, m->hint);
    pack_u32(p, m->line);
    pack_u32(p, m->column);
}

bool wire_unpack_violation(struct unpack *u, struct wire_violation *m)
{
    m->rule = unpack_span(u);
    m->name = unpack_span(u);
    m->message = unpack_span(u);
    m->hint = unpack_span(u);
    m->line = unpack_u32(u);
    m->column = unpack_u32(u);
    return !u->failed;
}

void wire_pack_exception(struct pack *p, const struct wire_exception *m)
{
    pack_span(p, m->name);
    pack_span(p, m->message);
    pack_span(p, m->traceback);
    pack_u32(p, m->line);
    pack_u32(p, m->advice);
    pack_strings(p, &m->names);
}

bool wire_unpack_exception(struct unpack *u, struct wire_exception *m)
{
    m->name = unpack_span(u);
    m->message = unpack_span(u);
    m->traceback = unpack_span(u);
    m->line = unpack_u32(u);
    m->advice = unpack_u32(u);
    unpack_strings(u, &m->names);
    return unpack_ok(u);
}

void wire_pack_display(struct pack *p, const struct wire_display *m)
{
    pack_u32(p, m->count);
    for (uint32_t i = 0; i < m->count; i++) {
        pack_span(p, m->forms[i].mime);
        pack_span(p, m->forms[i].data);
    }
    pack_span(p, m->metadata);
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

void wire_pack_progress(struct pack *p, const struct wire_progress *m)
{
    pack_u64(p, m->done);
    pack_u64(p, m->total);
    pack_span(p, m->text);
}

bool wire_unpack_progress(struct unpack *u, struct wire_progress *m)
{
    m->done = unpack_u64(u);
    m->total = unpack_u64(u);
    m->text = unpack_span(u);
    return unpack_ok(u);
}

void wire_pack_call(struct pack *p, const struct wire_call *m)
{
    pack_u64(p, m->id);
    pack_span(p, m->name);
    pack_span(p, m->arguments);
}

bool wire_unpack_call(struct unpack *u, struct wire_call *m)
{
    m->id = unpack_u64(u);
    m->name = unpack_span(u);
    m->arguments = unpack_span(u);
    return unpack_ok(u) && m->name.len <= WIRE_CALL_NAME_MAX;
}

void wire_pack_reply(struct pack *p, const struct wire_reply *m)
{
    pack_u64(p, m->id);
    pack_u8(p, m->is_ok);
    pack_span(p, m->value);
}

bool wire_unpack_reply(struct unpack *u, struct wire_reply *m)
{
    uint8_t word;

    m->id = unpack_u64(u);
    word = unpack_u8(u);
    m->is_ok = word;
    m->value = unpack_span(u);
    return unpack_ok(u) && word <= 1;
}
