#include "unit.h"

#include <stdbool.h>

#include "wire/message.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Each message as a pair: one that packs a sample, one that reads bytes into a struct and packs
 * that again. What comes out of the second must be what went in, byte by byte. */
struct subject {
    const char *name;
    void (*sample)(struct pack *p);
    bool (*again)(struct unpack *u, struct pack *p);
    size_t count_at; /* where a list's length stands; 0: the message has none */
    uint32_t count_max;
};

/* Large, so not on the stack of every test. */
static struct wire_setup setup;
static struct wire_ready ready;
static struct wire_spawn spawn;
static struct wire_run run;

static void strings(struct wire_strings *list, const char *a, const char *b)
{
    list->count = 2;
    list->items[0] = span_of(a);
    list->items[1] = span_of(b);
}

static void sample_setup(struct pack *p)
{
    setup.python = span_of("/usr/bin/python3");
    strings(&setup.preload, "numpy", "pandas");
    strings(&setup.binds, "/srv/venv", "");
    setup.directory = span_of("/tmp/belljar");
    setup.warm = true;
    wire_pack_setup(p, &setup);
}

static bool again_setup(struct unpack *u, struct pack *p)
{
    static struct wire_setup got;

    if (!wire_unpack_setup(u, &got))
        return false;
    wire_pack_setup(p, &got);
    return true;
}

static void sample_ready(struct pack *p)
{
    ready.python_version = span_of("3.11.2");
    strings(&ready.missing, "numpy: No module named 'numpy'", "x: y");
    wire_pack_ready(p, &ready);
}

static bool again_ready(struct unpack *u, struct pack *p)
{
    static struct wire_ready got;

    if (!wire_unpack_ready(u, &got))
        return false;
    wire_pack_ready(p, &got);
    return true;
}

static void sample_spawn(struct pack *p)
{
    spawn = (struct wire_spawn){.id = UINT64_C(0x100000002),
                                .uid = 77,
                                .flags = WIRE_SPAWN_TOUCH,
                                .disk_bytes = UINT64_C(1) << 33,
                                .inodes = 5000,
                                .attach = WIRE_ATTACH_MAX,
                                .n_grants = 2};
    spawn.grants[0].path = span_of("/srv/data");
    spawn.grants[0].mode = WIRE_GRANT_RO;
    spawn.grants[1].path = span_of("/home/user/project");
    spawn.grants[1].mode = WIRE_GRANT_RW;
    spawn.workdir = span_of("/home/user/project");
    wire_pack_spawn(p, &spawn);
}

static bool again_spawn(struct unpack *u, struct pack *p)
{
    static struct wire_spawn got;

    if (!wire_unpack_spawn(u, &got))
        return false;
    wire_pack_spawn(p, &got);
    return true;
}

static void sample_failure(struct pack *p)
{
    wire_pack_failure(p, &(struct wire_failure){.code = 9,
                                                .errnum = 1,
                                                .message = span_of("mount /proc: no"),
                                                .hint = span_of("run `belljar doctor`")});
}

static bool again_failure(struct unpack *u, struct pack *p)
{
    struct wire_failure got;

    if (!wire_unpack_failure(u, &got))
        return false;
    wire_pack_failure(p, &got);
    return true;
}

static void sample_exited(struct pack *p)
{
    wire_pack_exited(p, &(struct wire_exited){WIRE_KERNEL_BASH, 0x8b, UINT64_C(1) << 40, 123456});
}

static bool again_exited(struct unpack *u, struct pack *p)
{
    struct wire_exited got;

    if (!wire_unpack_exited(u, &got))
        return false;
    wire_pack_exited(p, &got);
    return true;
}

static void sample_run(struct pack *p)
{
    run.flags = WIRE_RUN_AUTO_PRINT | WIRE_RUN_STDIN;
    run.descriptors = 256;
    run.processes = 64;
    run.cpu_s = 10;
    run.language = RUN_JAVASCRIPT;
    run.memory_mb = 512;
    run.file_bytes = UINT64_C(1) << 34;
    run.data_bytes = 4096;
    run.code = (struct span){"print('a\0b')\n", 13};
    run.policy = span_of("rules");
    strings(&run.env, "A=1", "B=two words");
    strings(&run.args, "report.py", "--all");
    run.directory = span_of("/workspace/d");
    wire_pack_run(p, &run);
}

static bool again_run(struct unpack *u, struct pack *p)
{
    static struct wire_run got;

    if (!wire_unpack_run(u, &got))
        return false;
    wire_pack_run(p, &got);
    return true;
}

static void sample_exception(struct pack *p)
{
    wire_pack_exception(p,
                        &(struct wire_exception){
                            .name = span_of("ValueError"),
                            .message = span_of("bad"),
                            .traceback = span_of("Traceback ...\n"),
                            .line = 12,
                            .column = 3,
                            .advice = WIRE_ADVICE_MODULE,
                            .names = {.count = 2, .items = {span_of("numpy"), span_of("pandas")}}});
}

static bool again_exception(struct unpack *u, struct pack *p)
{
    struct wire_exception got;

    if (!wire_unpack_exception(u, &got))
        return false;
    wire_pack_exception(p, &got);
    return true;
}

/* Its list stands at the front, where `count_at` cannot say so. */
static void sample_display(struct pack *p)
{
    static const char png[] = "\x89PNG\r\n\x1a\n\0data";

    wire_pack_display(
        p, &(struct wire_display){.count = 2,
                                  .forms = {{span_of("image/png"), {png, sizeof(png) - 1}},
                                            {span_of("text/plain"), span_of("<Figure>")}},
                                  .metadata = span_of("{\"width\":640}")});
}

static bool again_display(struct unpack *u, struct pack *p)
{
    struct wire_display got;

    if (!wire_unpack_display(u, &got))
        return false;
    wire_pack_display(p, &got);
    return true;
}

static void sample_cell(struct pack *p)
{
    wire_pack_cell(p, &(struct wire_cell){.flags = WIRE_RUN_STDIN,
                                          .number = 7,
                                          .code = span_of("input()"),
                                          .input = span_of("a\nb\n"),
                                          .language = span_of("typescript")});
}

static bool again_cell(struct unpack *u, struct pack *p)
{
    struct wire_cell got;

    if (!wire_unpack_cell(u, &got))
        return false;
    wire_pack_cell(p, &got);
    return true;
}

static void sample_progress(struct pack *p)
{
    wire_pack_progress(p, &(struct wire_progress){UINT64_C(1) << 40, 3, span_of("half way")});
}

static bool again_progress(struct unpack *u, struct pack *p)
{
    struct wire_progress got;

    if (!wire_unpack_progress(u, &got))
        return false;
    wire_pack_progress(p, &got);
    return true;
}

static void sample_call(struct pack *p)
{
    wire_pack_call(
        p, &(struct wire_call){UINT64_C(1) << 50, span_of("state.list"), span_of("{\"a\":1}")});
}

static bool again_call(struct unpack *u, struct pack *p)
{
    struct wire_call got;

    if (!wire_unpack_call(u, &got))
        return false;
    wire_pack_call(p, &got);
    return true;
}

static void sample_reply(struct pack *p)
{
    wire_pack_reply(p, &(struct wire_reply){7, true, span_of("[1, 2]")});
}

static bool again_reply(struct unpack *u, struct pack *p)
{
    struct wire_reply got;

    if (!wire_unpack_reply(u, &got))
        return false;
    wire_pack_reply(p, &got);
    return true;
}

static void sample_violation(struct pack *p)
{
    wire_pack_violation(p, &(struct wire_violation){.rule = span_of("import"),
                                                    .name = span_of("os"),
                                                    .message = span_of("no"),
                                                    .hint = span_of(""),
                                                    .line = 3,
                                                    .column = 9});
}

/* One of a list, so its reader does not ask whether anything is left. */
static bool again_violation(struct unpack *u, struct pack *p)
{
    struct wire_violation got;

    if (!wire_unpack_violation(u, &got) || !unpack_ok(u))
        return false;
    wire_pack_violation(p, &got);
    return true;
}

static const struct subject subjects[] = {
    {"setup", sample_setup, again_setup, 4 + 16, WIRE_STRINGS_MAX},
    {"ready", sample_ready, again_ready, 4 + 6, WIRE_STRINGS_MAX},
    {"spawn", sample_spawn, again_spawn, 8 + 4 + 4 + 8 + 4 + 4, WIRE_GRANTS_MAX},
    {"failure", sample_failure, again_failure, 0, 0},
    {"exited", sample_exited, again_exited, 0, 0},
    {"run", sample_run, again_run, 16 + 16 + 4 + 13 + 4 + 5, WIRE_STRINGS_MAX},
    {"exception", sample_exception, again_exception, 4 + 10 + 4 + 3 + 4 + 14 + 12,
     WIRE_STRINGS_MAX},
    {"violation", sample_violation, again_violation, 0, 0},
    {"display", sample_display, again_display, 0, 0},
    {"progress", sample_progress, again_progress, 0, 0},
    {"call", sample_call, again_call, 0, 0},
    {"reply", sample_reply, again_reply, 0, 0},
    {"cell", sample_cell, again_cell, 0, 0},
};

static struct pack packed(const struct subject *s)
{
    struct pack p;

    pack_init(&p, 65536);
    s->sample(&p);
    assert_false(p.failed);
    return p;
}

/* The bytes lie in memory of exactly their length, so that the address checker sees a read past the
 * end. */
static bool reads(const struct subject *s, const uint8_t *data, size_t len, struct pack *ret_again)
{
    uint8_t *exact = malloc(len ? len : 1);
    struct unpack u;
    bool ok;

    assert_non_null(exact);
    memcpy(exact, data, len);
    unpack_init(&u, exact, len);
    pack_init(ret_again, 65536);
    ok = s->again(&u, ret_again);
    free(exact);
    return ok;
}

static bool is_refused(const struct subject *s, const uint8_t *data, size_t len)
{
    struct pack again;
    bool ok = reads(s, data, len, &again);

    pack_done(&again);
    return !ok;
}

TEST(every_message_comes_back_as_it_went)
{
    for (size_t i = 0; i < COUNT(subjects); i++) {
        struct pack p = packed(&subjects[i]), again;

        if (!reads(&subjects[i], p.data, p.len, &again))
            fail_msg("%s is not read", subjects[i].name);
        assert_int_equal(again.len, p.len);
        assert_memory_equal(again.data, p.data, p.len);
        pack_done(&again);
        pack_done(&p);
    }
}

TEST(every_message_cut_anywhere_is_refused)
{
    for (size_t i = 0; i < COUNT(subjects); i++) {
        struct pack p = packed(&subjects[i]);

        for (size_t len = 0; len < p.len; len++)
            if (!is_refused(&subjects[i], p.data, len))
                fail_msg("%s of %zu bytes was read from %zu", subjects[i].name, p.len, len);
        pack_done(&p);
    }
}

TEST(a_byte_too_many_is_refused)
{
    for (size_t i = 0; i < COUNT(subjects); i++) {
        struct pack p = packed(&subjects[i]);

        pack_u8(&p, 0);
        if (!is_refused(&subjects[i], p.data, p.len))
            fail_msg("%s takes a byte too many", subjects[i].name);
        pack_done(&p);
    }
}

/* 0xffffffff instead of every four bytes: some of them are lengths and counts. What is still read
 * must be the message those bytes spell. */
TEST(lengths_that_lie_are_refused_or_mean_what_they_say)
{
    static const uint32_t lies[] = {0xffffffff, 0x7fffffff, 0x80000000, 0x10000, 0};

    for (size_t i = 0; i < COUNT(subjects); i++) {
        struct pack p = packed(&subjects[i]);

        for (size_t at = 0; at + 4 <= p.len; at++) {
            for (size_t l = 0; l < COUNT(lies); l++) {
                uint8_t kept[4];
                struct pack again;

                memcpy(kept, p.data + at, 4);
                memcpy(p.data + at, &lies[l], 4);
                if (reads(&subjects[i], p.data, p.len, &again)) {
                    assert_int_equal(again.len, p.len);
                    /* A flag of one byte is read as yes or no. */
                    if (again_setup != subjects[i].again)
                        assert_memory_equal(again.data, p.data, p.len);
                }
                pack_done(&again);
                memcpy(p.data + at, kept, 4);
            }
        }
        pack_done(&p);
    }
}

TEST(a_list_longer_than_the_reader_holds_is_refused)
{
    for (size_t i = 0; i < COUNT(subjects); i++) {
        const struct subject *s = &subjects[i];
        struct pack p;
        uint32_t count, over = s->count_max + 1;

        if (!s->count_at)
            continue;
        p = packed(s);
        memcpy(&count, p.data + s->count_at, 4);
        assert_int_equal(count, 2); /* this is where the count is */
        memcpy(p.data + s->count_at, &over, 4);
        for (size_t n = 0; n < (size_t)over * 8; n++)
            pack_u8(&p, 0); /* bytes enough for that many empty items */
        assert_true(is_refused(s, p.data, p.len));
        pack_done(&p);
    }
}

TEST(a_list_as_long_as_the_reader_holds_is_read)
{
    static struct wire_ready full, got;
    struct unpack u;
    struct pack p;

    full.python_version = span_of("3");
    full.missing.count = WIRE_STRINGS_MAX;
    for (uint32_t i = 0; i < WIRE_STRINGS_MAX; i++)
        full.missing.items[i] = span_of("m");
    pack_init(&p, wire_type_max(WIRE_READY));
    wire_pack_ready(&p, &full);
    assert_false(p.failed);
    unpack_init(&u, p.data, p.len);
    assert_true(wire_unpack_ready(&u, &got));
    assert_int_equal(got.missing.count, WIRE_STRINGS_MAX);
    assert_memory_equal(got.missing.items[WIRE_STRINGS_MAX - 1].data, "m", 1);
    pack_done(&p);
}

TEST(more_cgroups_than_there_is_room_for_are_refused)
{
    struct pack p = packed(&subjects[2]);
    uint32_t over = WIRE_ATTACH_MAX + 1;

    memcpy(p.data + 8 + 4 + 4 + 8 + 4, &over, 4);
    assert_true(is_refused(&subjects[2], p.data, p.len));
    pack_done(&p);
}

TEST(a_display_of_more_forms_than_there_is_room_for_is_refused)
{
    struct pack p = packed(&subjects[8]);
    uint32_t over = WIRE_FORMS_MAX + 1;

    memcpy(p.data, &over, 4);
    for (size_t n = 0; n < (size_t)over * 8; n++)
        pack_u8(&p, 0);
    assert_true(is_refused(&subjects[8], p.data, p.len));
    pack_done(&p);
}

TEST(fields_arrive_in_their_places)
{
    struct pack p = packed(&subjects[5]);
    static struct wire_run got;
    struct unpack u;

    unpack_init(&u, p.data, p.len);
    assert_true(wire_unpack_run(&u, &got));
    assert_int_equal(got.flags, WIRE_RUN_AUTO_PRINT | WIRE_RUN_STDIN);
    assert_int_equal(got.descriptors, 256);
    assert_int_equal(got.processes, 64);
    assert_int_equal(got.cpu_s, 10);
    assert_true(got.file_bytes == UINT64_C(1) << 34);
    assert_int_equal(got.data_bytes, 4096);
    assert_int_equal(got.code.len, 13);
    assert_memory_equal(got.code.data, "print('a\0b')\n", 13);
    assert_int_equal(got.env.count, 2);
    assert_memory_equal(got.env.items[1].data, "B=two words", got.env.items[1].len);
    assert_int_equal(got.args.count, 2);
    assert_memory_equal(got.args.items[0].data, "report.py", got.args.items[0].len);
    assert_memory_equal(got.directory.data, "/workspace/d", got.directory.len);
    pack_done(&p);
}

TEST(the_end_of_a_process_that_cannot_be_there_is_refused)
{
    struct pack p = packed(&subjects[4]);
    uint32_t last = WIRE_PROCESSES - 1, over = WIRE_PROCESSES;

    memcpy(p.data, &last, 4);
    assert_false(is_refused(&subjects[4], p.data, p.len));
    memcpy(p.data, &over, 4);
    assert_true(is_refused(&subjects[4], p.data, p.len));
    pack_done(&p);
}

TEST(samples_fit_into_the_sizes_of_their_types)
{
    static const struct {
        size_t subject;
        enum wire_type type;
    } of[] = {
        {0, WIRE_SETUP},    {1, WIRE_READY}, {2, WIRE_SPAWN},     {3, WIRE_FAILED},
        {4, WIRE_EXITED},   {5, WIRE_RUN},   {6, WIRE_EXCEPTION}, {8, WIRE_DISPLAY},
        {9, WIRE_PROGRESS}, {10, WIRE_CELL},
    };

    for (size_t i = 0; i < COUNT(of); i++) {
        struct pack p = packed(&subjects[of[i].subject]);

        assert_true(p.len <= wire_type_max(of[i].type));
        pack_done(&p);
    }
}

/* --- the table of who may say what --- */

struct permission {
    enum wire_channel channel;
    enum wire_state state;
    enum wire_type type;
    enum wire_state next;
    uint32_t max; /* 0: any number */
};

/* Written down a second time on purpose: a message that becomes permitted has to be added here,
 * too. */
static const struct permission permissions[] = {
    {WIRE_CHANNEL_ZYGOTE, WIRE_STATE_STARTING, WIRE_READY, WIRE_STATE_READY, 1},
    {WIRE_CHANNEL_ZYGOTE, WIRE_STATE_STARTING, WIRE_FAILED, WIRE_STATE_ENDED, 1},
    {WIRE_CHANNEL_ZYGOTE, WIRE_STATE_READY, WIRE_SPAWNED, WIRE_STATE_READY, 0},
    {WIRE_CHANNEL_ZYGOTE, WIRE_STATE_READY, WIRE_SPAWN_FAILED, WIRE_STATE_READY, 0},
    {WIRE_CHANNEL_ZYGOTE, WIRE_STATE_READY, WIRE_GONE, WIRE_STATE_READY, 0},
    {WIRE_CHANNEL_INIT, WIRE_STATE_STARTING, WIRE_SEALED, WIRE_STATE_READY, 1},
    {WIRE_CHANNEL_INIT, WIRE_STATE_STARTING, WIRE_FAILED, WIRE_STATE_ENDED, 1},
    {WIRE_CHANNEL_INIT, WIRE_STATE_READY, WIRE_EXITED, WIRE_STATE_READY, 0},
    {WIRE_CHANNEL_INIT, WIRE_STATE_READY, WIRE_SIGNALLED, WIRE_STATE_READY, 0},
    {WIRE_CHANNEL_INIT, WIRE_STATE_READY, WIRE_CONNECTED, WIRE_STATE_READY, 0},
    {WIRE_CHANNEL_KERNEL, WIRE_STATE_STARTING, WIRE_WAITING, WIRE_STATE_READY, 1},
    {WIRE_CHANNEL_KERNEL, WIRE_STATE_HANDED, WIRE_FAILED, WIRE_STATE_ENDED, 1},
    {WIRE_CHANNEL_KERNEL, WIRE_STATE_HANDED, WIRE_REFUSED, WIRE_STATE_ENDED, 1},
    {WIRE_CHANNEL_KERNEL, WIRE_STATE_HANDED, WIRE_STARTED, WIRE_STATE_RUNNING, 1},
    {WIRE_CHANNEL_KERNEL, WIRE_STATE_RUNNING, WIRE_RESULT, WIRE_STATE_RUNNING, 1},
    {WIRE_CHANNEL_KERNEL, WIRE_STATE_RUNNING, WIRE_EXCEPTION, WIRE_STATE_RUNNING, 1},
    {WIRE_CHANNEL_KERNEL, WIRE_STATE_RUNNING, WIRE_DISPLAY, WIRE_STATE_RUNNING, 0},
    {WIRE_CHANNEL_KERNEL, WIRE_STATE_RUNNING, WIRE_PROGRESS, WIRE_STATE_RUNNING, 0},
    {WIRE_CHANNEL_CELLS, WIRE_STATE_STARTING, WIRE_WAITING, WIRE_STATE_READY, 1},
    {WIRE_CHANNEL_CELLS, WIRE_STATE_READY, WIRE_FAILED, WIRE_STATE_ENDED, 1},
    {WIRE_CHANNEL_CELLS, WIRE_STATE_HANDED, WIRE_FAILED, WIRE_STATE_ENDED, 1},
    {WIRE_CHANNEL_CELLS, WIRE_STATE_HANDED, WIRE_REFUSED, WIRE_STATE_REFUSED, 1},
    {WIRE_CHANNEL_CELLS, WIRE_STATE_REFUSED, WIRE_DONE, WIRE_STATE_READY, 1},
    {WIRE_CHANNEL_CELLS, WIRE_STATE_HANDED, WIRE_STARTED, WIRE_STATE_RUNNING, 1},
    {WIRE_CHANNEL_CELLS, WIRE_STATE_HANDED, WIRE_RESTORED, WIRE_STATE_READY, 1},
    {WIRE_CHANNEL_CELLS, WIRE_STATE_RUNNING, WIRE_RESULT, WIRE_STATE_RUNNING, 1},
    {WIRE_CHANNEL_CELLS, WIRE_STATE_RUNNING, WIRE_EXCEPTION, WIRE_STATE_RUNNING, 1},
    {WIRE_CHANNEL_CELLS, WIRE_STATE_RUNNING, WIRE_DISPLAY, WIRE_STATE_RUNNING, 0},
    {WIRE_CHANNEL_CELLS, WIRE_STATE_RUNNING, WIRE_PROGRESS, WIRE_STATE_RUNNING, 0},
    {WIRE_CHANNEL_CELLS, WIRE_STATE_RUNNING, WIRE_CALL, WIRE_STATE_RUNNING, 0},
    {WIRE_CHANNEL_KERNEL, WIRE_STATE_RUNNING, WIRE_CALL, WIRE_STATE_RUNNING, 0},
    {WIRE_CHANNEL_CELLS, WIRE_STATE_RUNNING, WIRE_DONE, WIRE_STATE_READY, 8},
    {WIRE_CHANNEL_CELLS, WIRE_STATE_READY, WIRE_DONE, WIRE_STATE_READY, 8},
    {WIRE_CHANNEL_CELLS, WIRE_STATE_HANDED, WIRE_DONE, WIRE_STATE_HANDED, 8},
    {WIRE_CHANNEL_CELLS, WIRE_STATE_SAVING, WIRE_DONE, WIRE_STATE_SAVING, 8},
    {WIRE_CHANNEL_CELLS, WIRE_STATE_SAVING, WIRE_SAVED, WIRE_STATE_READY, 1},
};

static const struct permission *find_permission(int channel, int state, unsigned type)
{
    for (size_t i = 0; i < COUNT(permissions); i++)
        if ((int)permissions[i].channel == channel && (int)permissions[i].state == state &&
            permissions[i].type == type)
            return &permissions[i];
    return NULL;
}

TEST(only_what_is_on_the_list_may_be_sent)
{
    size_t found = 0;

    for (int channel = -1; channel <= WIRE_CHANNEL_CELLS + 1; channel++)
        for (int at = -1; at <= WIRE_STATE_SAVING + 1; at++)
            for (unsigned type = 0; type < 300; type++) {
                const struct wire_rule *rule = wire_permitted(channel, at, type, 0);
                const struct permission *expected = find_permission(channel, at, type);

                if (!rule != !expected)
                    fail_msg("channel %d, state %d, type %u", channel, at, type);
                if (!rule)
                    continue;
                found++;
                assert_int_equal(rule->next, expected->next);
                if (expected->max)
                    assert_non_null(wire_permitted(channel, at, type, expected->max - 1));
                assert_int_equal(wire_permitted(channel, at, type, expected->max) != NULL,
                                 expected->max == 0);
                assert_int_equal(wire_permitted(channel, at, type, UINT32_MAX) != NULL,
                                 expected->max == 0);
            }
    assert_int_equal(found, COUNT(permissions));
}

TEST(nothing_is_permitted_at_the_end)
{
    for (int channel = 0; channel <= WIRE_CHANNEL_CELLS; channel++)
        for (unsigned type = 0; type < WIRE_TYPE_END; type++)
            assert_null(wire_permitted(channel, WIRE_STATE_ENDED, type, 0));
}

TEST(unknown_types_have_no_room_and_no_name)
{
    static const unsigned unknown[] = {0, WIRE_TYPE_END, WIRE_TYPE_END + 1, 255, 256, ~0u};

    for (size_t i = 0; i < COUNT(unknown); i++) {
        assert_int_equal(wire_type_max(unknown[i]), 0);
        assert_string_equal(wire_type_name(unknown[i]), "unknown");
    }
    for (unsigned type = WIRE_SETUP; type < WIRE_TYPE_END; type++)
        assert_string_not_equal(wire_type_name(type), "unknown");
}

TEST(layers_have_names_of_their_own)
{
    for (unsigned i = 0; i < WIRE_LAYER_COUNT; i++)
        for (unsigned j = 0; j < i; j++)
            assert_string_not_equal(wire_layer_name(i), wire_layer_name(j));
    assert_string_equal(wire_layer_name(LAYER_SECCOMP_INDEX), "seccomp");
    assert_string_equal(wire_layer_name(WIRE_LAYER_COUNT), "unknown");
}

UNIT_MAIN()
