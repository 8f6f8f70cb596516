#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/fiber.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/loop.h"

static void burn(void *arg)
{
    int *steps = arg;

    for (int i = 0; i < 10; i++) {
        uint64_t began_ns = loop_cpu_ns();

        while (loop_cpu_ns() - began_ns < 2000000)
            ;
        (*steps)++;
        fiber_pause();
    }
}

TEST(a_fiber_stops_when_its_time_is_up)
{
    int steps = 0, turns = 1;
    struct fiber *fiber = fiber_new(burn, &steps);

    assert_non_null(fiber);
    assert_false(fiber_is_running());
    for (; !fiber_resume(fiber); turns++)
        assert_false(fiber_is_running());
    assert_int_equal(steps, 10);
    assert_true(turns >= 4);
    assert_true(fiber_resume(fiber));
    fiber_free(fiber);
}

TEST(elsewhere_a_pause_is_nothing)
{
    int steps = 0;

    fiber_pause();
    burn(&steps);
    assert_int_equal(steps, 10);
    fiber_free(NULL);
}

struct text {
    struct buf text;
    json_t *value;
    struct error err;
    int result;
};

static void load(void *arg)
{
    static const struct json_text_limits limits = {.bytes = 32 * MIB, .depth = 200};
    struct text *t = arg;

    t->result = json_text_load(buf_str(&t->text), t->text.len, &limits, &t->value, &t->err);
}

static unsigned load_in_fiber(struct text *t)
{
    struct fiber *fiber = fiber_new(load, t);
    unsigned turns = 1;

    assert_non_null(fiber);
    while (!fiber_resume(fiber))
        turns++;
    fiber_free(fiber);
    return turns;
}

TEST(a_large_text_is_read_in_several_turns)
{
    struct text t = {.result = -1};

    buf_init(&t.text, 32 * MIB);
    assert_return_code(buf_add_str(&t.text, "{\"a\": \"", NULL), 0);
    for (size_t i = 0; i < 8 * MIB / 8; i++)
        assert_return_code(buf_add_str(&t.text, "\\u00e9 x", NULL), 0);
    assert_return_code(buf_add_str(&t.text, "\", \"b\": [1, 2.5, null]}", NULL), 0);
    assert_true(load_in_fiber(&t) > 2);
    assert_int_equal(t.result, 0);
    assert_int_equal(json_string_length(json_object_get(t.value, "a")), 4 * MIB);
    assert_int_equal(json_array_size(json_object_get(t.value, "b")), 3);
    json_decref(t.value);
    buf_done(&t.text);
}

TEST(mistakes_are_told_as_elsewhere)
{
    static const char *const texts[] = {
        "", "{", "[1,]", "[\"\\x\"]", "{\"a\": 1, \"a\": 2}", "[1] 2", "[\"\xff\"]"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct text inside = {0}, outside = {0};

        buf_init(&inside.text, MIB);
        buf_init(&outside.text, MIB);
        assert_return_code(buf_add_str(&inside.text, texts[i], NULL), 0);
        assert_return_code(buf_add_str(&outside.text, texts[i], NULL), 0);
        (void)load_in_fiber(&inside);
        load(&outside);
        assert_int_equal(inside.result, -1);
        assert_int_equal(outside.result, -1);
        assert_string_equal(inside.err.message, outside.err.message);
        error_done(&inside.err);
        error_done(&outside.err);
        buf_done(&inside.text);
        buf_done(&outside.text);
    }
}

UNIT_MAIN()
