#include "unit.h"

#include <time.h>

#include "base/id.h"

TEST(an_id_ends_with_the_name_of_its_node)
{
    char id[ID_SIZE] = "", other[ID_SIZE] = "", plain[ID_PLAIN_SIZE] = "";

    assert_return_code(id_make(id, "run_"), 0);
    assert_int_equal(strlen(id), 30);
    assert_int_equal(strncmp(id, "run_", 4), 0);
    id_set_node("abcdefghijk1");
    assert_return_code(id_make(id, "ses_"), 0);
    assert_int_equal(strlen(id), 43);
    assert_string_equal(id + 30, "-abcdefghijk1");
    assert_return_code(id_make(other, "ses_"), 0);
    assert_string_not_equal(id, other);
    assert_return_code(id_make_plain(plain, "tok_"), 0);
    assert_int_equal(strlen(plain), 30);
    id_set_node("");
    assert_return_code(id_make(id, "run_"), 0);
    assert_int_equal(strlen(id), 30);
}

TEST(an_id_tells_when_it_was_made)
{
    struct timespec now;
    char id[ID_SIZE] = "";
    int64_t ms;

    assert_return_code(id_make(id, "run_"), 0);
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
    ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    assert_true(id_time_ms(id) <= ms && id_time_ms(id) > ms - 60000);
    assert_int_equal(id_time_ms("run_0000000001ZZZZZZZZZZZZZZZZ-node"), 1);
    assert_int_equal(id_time_ms("run_000000000IZZZZZZZZZZZZZZZZ"), -1);
    assert_int_equal(id_time_ms("run_"), -1);
    assert_int_equal(id_time_ms(""), -1);
}

TEST(a_node_has_a_short_plain_name)
{
    static const char *const good[] = {"a", "a1", "node12345678"};
    static const char *const bad[] = {"", "1a", "A", "a-b", "a_b", "a.b", "node123456789", "a b"};

    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
        assert_true(id_is_node(good[i]));
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_false(id_is_node(bad[i]));
    assert_true(id_is_setting(""));
}

UNIT_MAIN()
