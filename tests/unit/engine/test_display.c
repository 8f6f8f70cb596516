#include "unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "engine/display.h"
#include "engine/masking.h"

static struct masks *masks;
static struct run_event last;
static unsigned events;

static void on_event(struct run *run, const struct run_event *event)
{
    (void)run;
    last = *event;
    events++;
}

static struct run *new_run(void)
{
    struct run *run = run_new();

    assert_non_null(run);
    run->on_event = on_event;
    run->masks = masks;
    events = 0;
    return run;
}

static bool show(struct run *run, const struct wire_display *shown)
{
    struct unpack u;
    struct pack p;
    bool ok;

    pack_init(&p, (size_t)64 << 20);
    wire_pack_display(&p, shown);
    assert_false(p.failed);
    unpack_init(&u, p.data, p.len);
    ok = display_take(run, &u);
    pack_done(&p);
    return ok;
}

TEST(what_is_shown_is_kept_in_order)
{
    static const char png[] = "\x89PNG\0data";
    struct run *run = new_run();

    assert_true(show(run, &(struct wire_display){.count = 2,
                                                 .forms = {{span_of("image/png"), {png, 9}},
                                                           {span_of("text/plain"), span_of("p")}},
                                                 .metadata = span_of("{\"width\":6}")}));
    assert_true(show(run, &(struct wire_display){
                              .count = 1, .forms = {{span_of("text/html"), span_of("<b>")}}}));
    assert_int_equal(run->result.n_displays, 2);
    assert_int_equal(run->result.displays[0].n_forms, 2);
    assert_int_equal(run_display_form(&run->result.displays[0], "image/png")->len, 9);
    assert_memory_equal(run_display_form(&run->result.displays[0], "image/png")->data, png, 9);
    assert_string_equal(run_display_form(&run->result.displays[0], "text/plain")->data, "p");
    assert_string_equal(run->result.displays[0].metadata, "{\"width\":6}");
    assert_string_equal(run->result.displays[1].forms[0].data, "<b>");
    assert_null(run->result.displays[1].metadata);
    assert_null(run_display_form(&run->result.displays[1], "image/png"));
    assert_int_equal(events, 2);
    assert_int_equal(last.kind, RUN_EVENT_DISPLAY);
    assert_int_equal(last.offset, 1);
    assert_ptr_equal(last.display, &run->result.displays[1]);
    run_free(run);
}

/* A token put together here, so that no file holds one; its first letter is an escape. */
TEST(no_type_and_no_escape_is_a_way_out)
{
    static const char rest[] = "hp"
                               "_8vOC7YM4bOnLHZ3APWI1"
                               "z1pMALuxQH0IQSnE";
    const char *const types[] = {"application/json", "application/vnd.x+json", "application/toml",
                                 "application/x-sh", "image/png"};
    char escaped[128], colored[128], plain[128];
    struct run *run;

    (void)snprintf(plain, sizeof(plain), "[\"g%s\", 1]", rest);
    (void)snprintf(escaped, sizeof(escaped), "{\"a\\n\":\"\\u0067%s\\u00e9\\\"\\/\"}", rest);
    (void)snprintf(colored, sizeof(colored), "[\"\\u001B[1mg%.8s\\u001b[31m%s\"]", rest, rest + 8);
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        run = new_run();
        run->terms.masking = RUN_MASK_SECRETS;
        assert_true(show(run, &(struct wire_display){
                                  .count = 1, .forms = {{span_of(types[i]), span_of(plain)}}}));
        assert_string_equal(run->result.displays[0].forms[0].data,
                            "[\"[REDACTED_GITHUB_TOKEN]\", 1]");
        run_free(run);
    }
    run = new_run();
    run->terms.masking = RUN_MASK_SECRETS;
    assert_true(show(run, &(struct wire_display){.count = 1,
                                                 .forms = {{span_of(types[0]), span_of(escaped)}},
                                                 .metadata = span_of(colored)}));
    assert_string_equal(run->result.displays[0].forms[0].data,
                        "{\"a\\n\":\"[REDACTED_GITHUB_TOKEN]\u00e9\\\"/\"}");
    assert_string_equal(run->result.displays[0].metadata,
                        "[\"\\u001b[1m[REDACTED_GITHUB_TOKEN]\"]");
    run_free(run);
}

TEST(more_things_than_there_is_room_for_are_counted)
{
    struct wire_display one = {.count = 1, .forms = {{span_of("text/plain"), span_of("x")}}};
    struct run *run = new_run();

    for (int i = 0; i < LIMIT_DISPLAYS + 5; i++)
        assert_true(show(run, &one));
    assert_int_equal(run->result.n_displays, LIMIT_DISPLAYS);
    assert_int_equal(run->result.displays_more, 5);
    assert_int_equal(events, LIMIT_DISPLAYS);
    run_free(run);
}

TEST(more_bytes_than_there_is_room_for_are_counted)
{
    static char bytes[6 * MIB];
    struct wire_display large = {.count = 1,
                                 .forms = {{span_of("image/png"), {bytes, sizeof(bytes)}}}};
    struct wire_display small = {.count = 1, .forms = {{span_of("text/plain"), span_of("x")}}};
    struct run *run = new_run();

    for (int i = 0; i < 4; i++)
        assert_true(show(run, &large));
    assert_int_equal(run->result.n_displays, 2);
    assert_int_equal(run->result.displays_more, 2);
    assert_true(show(run, &small)); /* for which there is room */
    assert_int_equal(run->result.n_displays, 3);
    assert_true(run->result.display_bytes <= LIMIT_DISPLAY_BYTES);
    run_free(run);
}

TEST(a_display_of_nothing_is_none)
{
    struct run *run = new_run();

    assert_false(show(run, &(struct wire_display){.count = 0}));
    assert_int_equal(run->result.n_displays + run->result.displays_more, 0);
    run_free(run);
}

TEST(types_have_to_look_like_types)
{
    static const char *const good[] = {"image/png", "image/svg+xml", "text/plain",
                                       "application/vnd.belljar.table+json", "a/b"};
    static const char *const bad[] = {"",           "image",       "image/",       "/png",
                                      "image/png;", "image/png\n", "text/html\"",  "Image/PNG",
                                      "a/b/c",      ".a/b",        "text/\xc3\xa4"};
    struct run *run = new_run();

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_true(display_is_mime(span_of(good[i])));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (display_is_mime(span_of(bad[i])))
            fail_msg("`%s` is taken for a type", bad[i]);
        assert_false(show(
            run, &(struct wire_display){.count = 1, .forms = {{span_of(bad[i]), span_of("x")}}}));
    }
    assert_false(display_is_mime((struct span){"image/p\0g", 9}));
    assert_int_equal(run->result.n_displays, 0);
    assert_int_equal(events, 0);
    run_free(run);
}

TEST(progress_is_an_event_and_leaves_nothing_behind)
{
    struct run *run = new_run();

    for (uint64_t i = 0; i < 3; i++) {
        struct unpack u;
        struct pack p;

        pack_init(&p, 4096);
        wire_pack_progress(&p, &(struct wire_progress){i, 3, span_of("loading")});
        unpack_init(&u, p.data, p.len);
        assert_true(display_take_progress(run, &u));
        assert_int_equal(last.kind, RUN_EVENT_PROGRESS);
        assert_int_equal(last.offset, i);
        assert_int_equal(last.done, i);
        assert_int_equal(last.total, 3);
        assert_memory_equal(last.data, "loading", 7);
        unpack_init(&u, p.data, p.len - 1);
        assert_false(display_take_progress(run, &u));
        pack_done(&p);
    }
    assert_int_equal(events, 3);
    assert_int_equal(run->result.n_progress, 3);
    run_free(run);
}

int main(void)
{
    int failed;

    masks = masks_new(NULL, NULL, NULL);
    failed = unit_run(NULL, NULL);
    masks_free(masks);
    return failed;
}
