#include "unit.h"

#include "cluster/batch_line.h"

static enum batch_line read_line(const char *text, size_t *run, char *verdict)
{
    return batch_line_read((struct span){text, strlen(text)}, run, verdict);
}

TEST(an_answer_has_its_run_and_its_verdict)
{
    char verdict[BATCH_VERDICT_MAX];
    size_t run = 0;

    assert_int_equal(
        read_line("{\"index\":7,\"id\":\"}\\n\",\"verdict\":\"wrong_answer\",\"result\":{}}", &run,
                  verdict),
        BATCH_LINE_RUN);
    assert_int_equal(run, 7);
    assert_string_equal(verdict, "wrong_answer");
}

TEST(what_is_between_answers_is_passed_over)
{
    char verdict[BATCH_VERDICT_MAX];
    size_t run;

    assert_int_equal(read_line("", &run, verdict), BATCH_LINE_NOTHING);
    assert_int_equal(read_line("  \t", &run, verdict), BATCH_LINE_NOTHING);
    assert_int_equal(read_line("{\"index\":1,\"verdict\":\"failed\",\"error\":{\"code\":\"busy\"}}",
                               &run, verdict),
                     BATCH_LINE_NOTHING);
    assert_int_equal(
        read_line("{\"index\":1,\"verdict\":\"failed\",\"error\":{\"code\":\"x\"}}", &run, verdict),
        BATCH_LINE_RUN);
    assert_int_equal(read_line("{\"summary\":{\"total\":3}}", &run, verdict), BATCH_LINE_NOTHING);
}

/* A node that lies reaches the answers to its own runs alone. */
TEST(what_would_change_the_answers_of_others_is_refused)
{
    static const char *const wrong[] = {
        "{\"index\":7,\"verdict\":\"accepted\"",
        "{\"index\":7,\"verdict\":\"accepted\"}],\"summary\":{}}",
        "{\"index\":7,\"verdict\":\"accepted\"},{\"index\":8,\"verdict\":\"accepted\"}",
        "{\"index\":7,\"verdict\":\"accepted\",\r\"x\":1}",
        "{\"index\":-1,\"verdict\":\"accepted\"}",
        "{\"index\":1.5,\"verdict\":\"accepted\"}",
        "{\"index\":\"1\",\"verdict\":\"accepted\"}",
        "{\"index\":1,\"index\":2,\"verdict\":\"accepted\"}",
        "{\"index\":1}",
        "{\"index\":1,\"verdict\":\"\"}",
        "{\"index\":1,\"verdict\":\"Accepted\"}",
        "{\"index\":1,\"verdict\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}",
        "{\"index\":1,\"verdict\":7}",
        "[]",
        "7",
        "data: {}",
        "{}",
    };
    char verdict[BATCH_VERDICT_MAX];
    size_t run;

    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        if (read_line(wrong[i], &run, verdict) != BATCH_LINE_WRONG)
            fail_msg("`%s` was taken", wrong[i]);
}

UNIT_MAIN()
