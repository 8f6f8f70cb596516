/* Output that came while the program ran, and the result that has it once more. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/loop.h"
#include "base/stream.h"
#include "engine/masking.h"
#include "unit.h"
#include "vm/inside.h"

#define OUTPUT_BYTES 20

static struct masks *masks;
static struct buf told;

static void on_event(struct run *run, const struct run_event *event)
{
    (void)run;
    if (event->kind == RUN_EVENT_STDOUT)
        (void)buf_add(&told, event->data, event->len, NULL);
    else if (event->kind == RUN_EVENT_DISPLAY)
        (void)buf_add_str(&told, "*", NULL);
    else if (event->kind == RUN_EVENT_PROGRESS)
        (void)buf_printf(&told, NULL, "%d/%d %.*s", (int)event->done, (int)event->total,
                         (int)event->len, event->data);
}

static struct run *begin(void)
{
    struct run *run = run_new();

    assert_non_null(run);
    if (!masks)
        masks = masks_new(NULL, NULL, NULL);
    buf_done(&told);
    buf_init(&told, 4096);
    run->masks = masks;
    run->on_event = on_event;
    run->terms.profile = "standard";
    run->terms.limits.output_bytes = OUTPUT_BYTES;
    run_stream_done(&run->result.out);
    run_stream_init(&run->result.out, OUTPUT_BYTES);
    return run;
}

static int take(struct run *run, struct inside_live *live, const char *name, const char *json)
{
    cleanup_error struct error err = {0};

    return inside_take_event(run, live, name, json, strlen(json), &err);
}

static void give_text(struct run *run, struct inside_live *live, const char *text)
{
    char json[256];

    (void)snprintf(json, sizeof(json), "{\"text\":\"%s\",\"offset\":0}", text);
    assert_int_equal(take(run, live, "stdout", json), 0);
}

/* The run's output as it is shown at the end. */
static void end(struct run *run, struct inside_live *live, const char *text, bool is_cut,
                const char *expected)
{
    cleanup(buf_done) struct buf shown = BUF_OF(4096);
    char json[512];

    (void)snprintf(json, sizeof(json),
                   "{\"status\":\"success\",\"stdout\":\"%s\",\"truncated\":{\"stdout\":%s}}", text,
                   is_cut ? "true" : "false");
    inside_take_answer(run, live, 200, json, strlen(json));
    assert_int_equal(run->result.error.code, E_NONE);
    assert_int_equal(run_stream_render(&run->result.out, &shown, NULL), 0);
    assert_string_equal(buf_str(&shown), expected);
    inside_live_done(live);
    run_free(run);
    buf_done(&told);
}

TEST(a_result_without_events_has_it_all)
{
    struct inside_live live = {0};

    end(begin(), &live, "all of it", false, "all of it");
}

TEST(what_came_before_is_not_taken_twice)
{
    struct inside_live live = {0};
    struct run *run = begin();

    give_text(run, &live, "one ");
    assert_string_equal(buf_str(&told), "one ");
    give_text(run, &live, "two ");
    end(run, &live, "one two three", false, "one two three");
}

TEST(the_end_of_a_long_output_comes_with_the_result)
{
    struct inside_live live = {0};
    struct run *run = begin();

    give_text(run, &live, "aaaaaaaaaabbbbbbbbbb");
    end(run, &live, "aaaaaaaaaa\\n… [100 bytes dropped] …\\ncccccccccc", true,
        "aaaaaaaaaa\n… [100 bytes dropped] …\ncccccccccc");
}

TEST(a_tail_that_began_before_the_end_of_the_events_is_joined)
{
    struct inside_live live = {0};
    struct run *run = begin();

    give_text(run, &live, "aaaaaaaaaabbbbbbbbbb");
    end(run, &live, "aaaaaaaaaa\\n… [5 bytes dropped] …\\nbbbbbccccc", true,
        "aaaaaaaaaa\n… [5 bytes dropped] …\nbbbbbccccc");
}

TEST(a_machine_cannot_send_more_than_there_is)
{
    struct inside_live live = {0};
    struct run *run = begin();
    int r = 0;

    for (int i = 0; r == 0 && i < 40000; i++)
        r = take(run, &live, "stdout",
                 "{\"text\":\"0123456789012345678901234567890123456789\",\"offset\":0}");
    assert_int_equal(r, -1);
    assert_int_equal(take(run, &live, "stdout", "{\"text\":7}"), -1);
    assert_int_equal(take(run, &live, "stdout", "{"), -1);
    inside_live_done(&live);
    run_free(run);
}

TEST(a_secret_is_masked_though_it_comes_in_two_events)
{
    struct inside_live live = {0};
    struct run *run = begin();

    run->terms.limits.output_bytes = 4096;
    run_stream_done(&run->result.out);
    run_stream_init(&run->result.out, 4096);
    give_text(run, &live, "key AKIA");
    give_text(run, &live, "IOSFODNN7EXAMPLA\\n");
    assert_null(strstr(buf_str(&told), "IOSFODNN7"));
    end(run, &live, "key AKIAIOSFODNN7EXAMPLA\\n", false, "key [REDACTED_AWS_KEY]\n");
}

TEST(displays_come_once)
{
    static const char result[] = "{\"status\":\"success\",\"displays\":[{\"bundle\":0,\"mime\":"
                                 "\"text/plain\",\"data\":\"a\"},"
                                 "{\"bundle\":0,\"mime\":\"text/html\",\"data\":\"a\"},"
                                 "{\"bundle\":1,\"mime\":\"text/plain\",\"data\":\"b\"}]}";
    struct inside_live live = {0};
    struct run *run = begin();

    assert_int_equal(take(run, &live, "display",
                          "{\"displays\":[{\"bundle\":0,\"mime\":\"text/plain\",\"data\":\"a\"},"
                          "{\"bundle\":0,\"mime\":\"text/html\",\"data\":\"a\"}]}"),
                     0);
    assert_int_equal(run->result.n_displays, 1);
    inside_take_answer(run, &live, 200, result, strlen(result));
    assert_int_equal(run->result.n_displays, 2);
    assert_int_equal(run->result.displays[1].forms[0].len, 1);
    assert_memory_equal(run->result.displays[1].forms[0].data, "b", 1);
    assert_string_equal(buf_str(&told), "**");
    inside_live_done(&live);
    run_free(run);
}

/* CPU time for a result whose list has so many words that are no displays. */
static clock_t take_many(size_t n_before)
{
    cleanup(buf_done) struct buf json = BUF_OF(MIB);
    struct inside_live live = {.n_displays = n_before};
    struct run *run = begin();
    clock_t before;

    assert_int_equal(buf_add_str(&json, "{\"status\":\"success\",\"displays\":[null", NULL), 0);
    for (size_t i = 0; i < 100000; i++)
        assert_int_equal(buf_add_str(&json, ",null", NULL), 0);
    assert_int_equal(buf_add_str(&json, "]}", NULL), 0);
    before = clock();
    inside_take_answer(run, &live, 200, buf_str(&json), json.len);
    before = clock() - before;
    assert_int_equal(run->result.error.code, E_NONE);
    inside_live_done(&live);
    run_free(run);
    return before + 1000;
}

TEST(a_long_list_of_displays_that_came_before_is_read_once)
{
    clock_t plain = take_many(0);

    assert_true(take_many(1) < 5 * plain);
}

TEST(a_quota_is_not_charged_for_more_time_than_there_was)
{
    static const char *const said[] = {"1e300", "-5", "\"much\"", "0.25"};
    char json[128];

    for (size_t i = 0; i < ARRAY_SIZE(said); i++) {
        struct inside_live live = {.cpus = 2};
        struct run *run = begin();
        double most;

        run->result.started_ns = loop_now_ns();
        (void)snprintf(json, sizeof(json), "{\"status\":\"success\",\"usage\":{\"cpu_ms\":%s}}",
                       said[i]);
        inside_take_answer(run, &live, 200, json, strlen(json));
        assert_int_equal(run->result.error.code, E_NONE);
        most = 2 * (double)(run->result.ended_ns - run->result.started_ns) / 1e6;
        assert_true(run->result.usage.cpu_ms >= 0 && run->result.usage.cpu_ms <= most);
        inside_live_done(&live);
        run_free(run);
    }
}

TEST(text_that_nobody_masks_is_left_out)
{
    static const char result[] =
        "{\"status\":\"success\",\"net\":{\"connections\":1,\"refused\":[{\"host\":\"AKIA\","
        "\"why\":\"x\"}]},\"denials\":[{\"what\":\"a\",\"layer\":\"disk limit\"},"
        "{\"what\":\"a\",\"layer\":\"AKIA\"}],\"displays\":["
        "{\"bundle\":0,\"mime\":\"text/plain\",\"data\":\"a\"},"
        "{\"bundle\":0,\"mime\":\"text/<b>\",\"data\":\"a\"}]}";
    struct inside_live live = {0};
    struct run *run = begin();

    inside_take_answer(run, &live, 200, result, strlen(result));
    assert_int_equal(run->result.error.code, E_NONE);
    assert_null(run->result.traffic);
    assert_int_equal(run->result.n_denials, 1);
    assert_string_equal(run->result.denials[0].layer, "disk limit");
    assert_int_equal(run->result.denials_more, 1);
    assert_int_equal(run->result.n_displays, 1);
    assert_int_equal(run->result.displays[0].n_forms, 1);
    inside_live_done(&live);
    run_free(run);
}

TEST(an_answer_that_is_no_result_breaks_the_rules)
{
    static const char *const bad[] = {"[]", "{}", "{\"status\":7,\"denials\":3}"};

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct inside_live live = {0};
        struct run *run = begin();

        inside_take_answer(run, &live, 200, bad[i], strlen(bad[i]));
        assert_int_equal(run->result.error.code, E_PROTOCOL);
        inside_live_done(&live);
        run_free(run);
    }
}

TEST(a_session_may_have_the_longest_clock)
{
    cleanup(buf_done) struct buf body = BUF_OF(64 * KIB);
    cleanup_error struct error err = {0};
    struct run_terms terms;

    run_terms_init(&terms);
    terms.profile = "standard";
    assert_int_equal(inside_opening("vms_1", &terms, 2592000000, 60000, &body, &err), 0);
    assert_non_null(strstr(buf_str(&body), "\"idle_s\":2592000.0,"));
    assert_non_null(strstr(buf_str(&body), "\"lifetime_s\":660.0,"));
    run_terms_done(&terms);
}

TEST(a_result_may_be_as_long_as_its_run_can_make_it)
{
    char all[] = "*", *patterns[] = {all, NULL};
    struct run *run = begin();
    size_t plain = inside_event_limit(run, "result");

    assert_true(inside_event_limit(run, "error") < MIB);
    assert_true(plain >= LIMIT_DISPLAY_BYTES && plain < INSIDE_ANSWER_MAX / 2);
    run->program.collect = patterns;
    assert_true(inside_event_limit(run, "result") >= plain + LIMIT_COLLECTED_BYTES * 4 / 3);
    run->program.collect = NULL;
    run->terms.limits.output_bytes += MIB;
    assert_int_equal(inside_event_limit(run, "result"), plain + 12 * MIB);
    run->terms.limits.output_bytes = UINT64_MAX;
    assert_int_equal(inside_event_limit(run, "result"), INSIDE_ANSWER_MAX);
    run_free(run);
}

TEST(progress_is_passed_on_but_not_flooded)
{
    struct inside_live live = {0};
    struct run *run = begin();

    for (int i = 0; i < 3; i++)
        assert_int_equal(take(run, &live, "progress", "{\"done\":1,\"total\":3,\"text\":\"step\"}"),
                         0);
    assert_memory_equal(buf_str(&told), "1/3 step", 8);
    inside_live_done(&live);
    run_free(run);
    buf_done(&told);
    masks_free(masks);
}

UNIT_MAIN()
