#include "cluster/event_text.h"

#include "unit.h"

static int next(const char *text, struct event_text *event, size_t *used)
{
    return event_text_next((struct span){text, strlen(text)}, event, used);
}

TEST(events_are_taken_one_by_one)
{
    static const char text[] = "id: 12\nevent: run_ended\ndata: {\"a\":1}\n\n:\n\nretry: 5\n"
                               "event: hello\ndata: {}\n\nid: 13\nevent: x\ndata";
    struct event_text event;
    size_t used, at = 0;

    assert_int_equal(next(text, &event, &used), 1);
    assert_true(event.has_id && event.id == 12 && span_is(event.name, "run_ended") &&
                span_is(event.data, "{\"a\":1}"));
    at += used;
    assert_int_equal(next(text + at, &event, &used), 1);
    assert_true(!event.has_id && event.name.len == 0);
    at += used;
    assert_int_equal(next(text + at, &event, &used), 1);
    assert_true(!event.has_id && span_is(event.name, "hello"));
    at += used;
    assert_int_equal(next(text + at, &event, &used), 0);
    assert_int_equal(next("", &event, &used), 0);
}

TEST(what_an_engine_does_not_send_is_refused)
{
    static const char *const texts[] = {
        "id: 1x\nevent: a\ndata: {}\n\n",
        "id: 1234567890123456789\nevent: a\ndata: {}\n\n",
        "id: 1\nid: 2\nevent: a\ndata: {}\n\n",
        "event: a\nevent: b\ndata: {}\n\n",
        "event: a\ndata: {}\ndata: {}\n\n",
        "event: a\ndata: {}\rid: 5\n\n",
        "event: A\ndata: {}\n\n",
        "event: a\n\n",
        "data: {}\n\n",
    };
    static char endless[EVENT_TEXT_MAX + 2];
    struct event_text event;
    size_t used;

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        assert_int_equal(next(texts[i], &event, &used), -1);
    memset(endless, 'x', EVENT_TEXT_MAX + 1);
    assert_int_equal(next(endless, &event, &used), -1);
}

TEST(an_id_has_the_place_in_each_stream)
{
    struct event_places places = {.count = 0}, again;
    struct buf text = BUF_OF(KIB);

    event_places_set(&places, "a1", UINT64_C(1794000000000123));
    event_places_set(&places, "b2", 0);
    event_places_set(&places, "a1", UINT64_C(1794000000000124));
    assert_int_equal(event_places_write(&places, &text, NULL), 0);
    assert_true(event_places_read((struct span){text.data, text.len}, &again));
    assert_int_equal(again.count, 2);
    assert_true(event_places_find(&again, "a1")->id == UINT64_C(1794000000000124));
    assert_true(event_places_find(&again, "b2")->id == 0);
    assert_null(event_places_find(&again, "c3"));
    event_places_remove(&again, "a1");
    event_places_remove(&again, "c3");
    assert_int_equal(again.count, 1);
    assert_non_null(event_places_find(&again, "b2"));
    buf_done(&text);
}

TEST(what_is_no_such_id_has_no_place)
{
    static const char *const texts[] = {
        "",
        "17940",
        "a1",
        "a1-",
        "a1-1..b2-1",
        "A1-1",
        "a1-1.a1-2",
        "a1-Z",
        "a1-1 ",
        "-1",
        "a1--1",
        "a1-1234567890123",
        "abcdefghijklm-1",
    };
    struct event_places places;

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct span text = {texts[i], strlen(texts[i])};

        assert_false(event_places_read(text, &places));
        assert_int_equal(places.count, 0);
    }
}

UNIT_MAIN()
