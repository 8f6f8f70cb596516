#include "cluster/beat.h"

#include "unit.h"

static const char sample[] =
    "{\"v\":1,\"name\":\"a1\",\"instance\":\"00000000000000ff\",\"version\":\"0.1.0\",\"clock_ms\":"
    "5,"
    "\"draining\":true,\"engine\":true,\"room\":7,\"labels\":[\"gpu\"],\"novel\":{},"
    "\"spent\":{\"since\":\"x\",\"tokens\":{\"ci\":[12,3.5,1024]}}}";

TEST(a_heartbeat_is_read_as_it_was_written)
{
    struct buf text = BUF_OF(BEAT_BYTES);
    struct beat beat, again;

    assert_int_equal(beat_read(sample, strlen(sample), &beat, NULL), 0);
    assert_true(beat.instance == 255 && beat.room == 7 && beat.is_draining && beat.has_engine);
    assert_true(beat_lists(beat.labels, "gpu") && !beat_lists(beat.labels, "g"));
    assert_int_equal(beat_write(&beat, true, &text, NULL), 0);
    assert_int_equal(beat_read(text.data, text.len, &again, NULL), 0);
    assert_true(again.instance == 255 && again.room == 7 && json_equal(beat.labels, again.labels));
    assert_true(json_is_object(beat.spent) && json_equal(beat.spent, again.spent));
    beat_done(&beat);
    beat_done(&again);
    buf_done(&text);
}

/* Nobody would hear the node otherwise. */
TEST(a_heartbeat_that_gets_too_long_leaves_out_what_was_counted)
{
    struct buf text = BUF_OF(BEAT_BYTES);
    char word[BEAT_BYTES];
    struct beat beat, again;

    assert_int_equal(beat_read(sample, strlen(sample), &beat, NULL), 0);
    memset(word, 'x', sizeof(word) - 1);
    word[sizeof(word) - 1] = '\0';
    json_object_set_new(beat.spent, word, json_null());
    assert_int_equal(beat_write(&beat, true, &text, NULL), 0);
    assert_int_equal(beat_read(text.data, text.len, &again, NULL), 0);
    assert_true(again.room == 7 && beat_lists(again.labels, "gpu") && !again.spent);
    beat_done(&beat);
    beat_done(&again);
    buf_done(&text);
}

TEST(what_is_no_heartbeat_is_refused)
{
    static const char *const texts[] = {
        "",
        "[]",
        "{}",
        "{\"v\":1,\"name\":\"A1\",\"instance\":\"00000000000000ff\"}",
        "{\"v\":2,\"name\":\"a1\",\"instance\":\"00000000000000ff\"}",
        "{\"v\":1,\"name\":\"a1\",\"instance\":\"ff\"}",
        "{\"v\":1,\"name\":\"a1\",\"instance\":\"00000000000000fg\"}",
        "{\"v\":1,\"name\":\"a1\",\"instance\":\"00000000000000ff\",\"room\":-9223372036854775808}",
        "{\"v\":1,\"name\":\"a1\",\"instance\":\"00000000000000ff\",\"novel\":9007199254740993}",
    };
    struct beat beat;

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        assert_int_equal(beat_read(texts[i], strlen(texts[i]), &beat, NULL), -1);
}

TEST(what_comes_after_a_gap_is_late)
{
    const uint64_t ms = 1000000;
    struct members members;
    struct beat beat;
    struct member *m;
    bool is_new;

    members_init(&members);
    assert_true(member_is_late(NULL, 0));
    assert_int_equal(beat_read(sample, strlen(sample), &beat, NULL), 0);
    m = members_hear(&members, &beat, 10000 * ms, &is_new);
    assert_true(member_is_late(m, 10000 * ms));
    for (uint64_t at = 10300; at <= 12100; at += 300) {
        assert_int_equal(beat_read(sample, strlen(sample), &beat, NULL), 0);
        m = members_hear(&members, &beat, at * ms, &is_new);
    }
    assert_false(member_is_late(m, 12100 * ms));
    assert_false(member_is_late(m, 12700 * ms));
    /* It is silent, and then heard again. */
    assert_true(member_is_late(m, 12701 * ms));
    assert_int_equal(beat_read(sample, strlen(sample), &beat, NULL), 0);
    m = members_hear(&members, &beat, 12800 * ms, &is_new);
    assert_true(member_is_late(m, 12800 * ms));
    members_done(&members);
}

/* Each of the two sees the same. */
TEST(of_two_processes_the_one_that_began_first_goes_on)
{
    struct beat first = {.started_ms = 5, .instance = 9}, second = {.started_ms = 6, .instance = 1};
    struct beat same = {.started_ms = 5, .instance = 10};

    assert_true(beat_goes_first(&first, &second) && !beat_goes_first(&second, &first));
    assert_true(beat_goes_first(&first, &same) && !beat_goes_first(&same, &first));
}

/* Their heartbeats take turns: what one has begun is not ended whenever the other is heard. */
TEST(two_processes_that_take_turns_are_new_once)
{
    struct members members;
    struct beat beat;
    bool is_new;

    members_init(&members);
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(beat_read(sample, strlen(sample), &beat, NULL), 0);
        beat.instance = i % 2;
        (void)members_hear(&members, &beat, 1000, &is_new);
        assert_int_equal(is_new, i < 2);
    }
    members_done(&members);
}

TEST(another_process_under_a_name_is_new)
{
    struct members members;
    struct beat beat;
    struct member *m;
    bool is_new;

    members_init(&members);
    assert_int_equal(beat_read(sample, strlen(sample), &beat, NULL), 0);
    assert_non_null(members_hear(&members, &beat, 1000, &is_new));
    assert_true(is_new);
    assert_int_equal(beat_read(sample, strlen(sample), &beat, NULL), 0);
    m = members_hear(&members, &beat, 2000, &is_new);
    assert_false(is_new);
    assert_int_equal(beat_read(sample, strlen(sample), &beat, NULL), 0);
    beat.instance++;
    assert_ptr_equal(members_hear(&members, &beat, 3000, &is_new), m);
    assert_true(is_new);
    assert_null(members_silent(&members, 3000 + 1000000, 1));
    assert_ptr_equal(members_silent(&members, 3001 + 1000000, 1), m);
    members_done(&members);
}

UNIT_MAIN()
