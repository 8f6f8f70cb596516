#include "unit.h"

#include <stdio.h>

#include "admit/queue.h"
#include "base/cleanup.h"

#define PLACES 64

static struct loop *loop;
static struct queue *queue;
static struct caller ann, bob, carl;
static struct item {
    struct queue_place place;
    char name;
    bool is_refused;
    enum error_code code;
} items[PLACES];
static size_t n_items;
static char order[PLACES + 1]; /* whose turns there were */

static void on_turn(void *user)
{
    const struct item *item = user;
    size_t n = strlen(order);

    order[n] = item->name;
    order[n + 1] = '\0';
}

static void on_refused(void *user, struct error *err)
{
    struct item *item = user;

    item->is_refused = true;
    item->code = err->code;
}

static struct item *enter(struct caller *caller, char name)
{
    struct item *item = &items[n_items++];

    *item = (struct item){
        .name = name, .place = {.caller = caller, .on_turn = on_turn, .on_refused = on_refused}};
    item->place.user = item;
    queue_enter(queue, &item->place);
    return item;
}

static void on_stop(void *arg)
{
    (void)arg;
    loop_stop(loop);
}

/* All that is due is done. */
static void settle(uint64_t ms)
{
    struct loop_watch *end = loop_timer(loop, on_stop, NULL);
    struct error err = {0};

    loop_timer_start(end, ms);
    assert_int_equal(loop_run(loop, &err), 0);
    loop_watch_free(end);
}

/* Lets each go that runs, until nobody is left. */
static void drain(void)
{
    struct queue_level level;

    do {
        for (size_t i = 0; i < n_items; i++)
            queue_leave(queue, &items[i].place);
        settle(1);
        queue_level(queue, &level);
    } while (level.running + level.waiting);
}

static void open_queue_with(struct queue_options options)
{
    struct error err = {0};

    ann = bob = carl = (struct caller){0};
    rights_init(&ann.rights);
    rights_init(&bob.rights);
    rights_init(&carl.rights);
    n_items = 0;
    order[0] = '\0';
    loop = loop_new(&err);
    assert_non_null(loop);
    assert_int_equal(queue_new(loop, &options, &queue, &err), 0);
}

static void open_queue(size_t running, size_t waiting, uint64_t wait_ms)
{
    open_queue_with((struct queue_options){running, waiting, wait_ms, 0});
}

static void close_queue(void)
{
    queue_free(queue);
    loop_free(loop);
}

TEST(a_flood_waits_behind_itself)
{
    open_queue(1, 64, 60000);
    for (int i = 0; i < 20; i++)
        enter(&ann, 'a');
    for (int i = 0; i < 3; i++)
        enter(&bob, 'b');
    enter(&carl, 'c');
    drain();
    assert_int_equal(strlen(order), 24);
    /* One was running; then one of each in turn. */
    assert_memory_equal(order, "aabcabab", 8);
    assert_string_equal(order + 8, "aaaaaaaaaaaaaaaa");
    close_queue();
}

/* A caller with all its places leaves places for those who have nothing. */
TEST(a_place_is_left_for_those_of_whom_nothing_runs)
{
    struct queue_level level;

    open_queue_with((struct queue_options){
        .max_running = 8, .max_waiting = 64, .wait_ms = 60000, .reserved = 2});
    for (int i = 0; i < 20; i++)
        enter(&ann, 'a');
    assert_string_equal(order, "aaaaaa");
    enter(&bob, 'b');
    enter(&bob, 'b'); /* bob has one: the second waits like ann's seventh */
    enter(&carl, 'c');
    assert_string_equal(order, "aaaaaabc");
    queue_level(queue, &level);
    assert_int_equal(level.running, 8);
    drain();
    assert_int_equal(strlen(order), 23);
    close_queue();
}

TEST(when_it_is_full_the_longest_line_gives_way)
{
    struct item *last = NULL;
    struct error err = {0};

    open_queue(1, 8, 60000);
    for (int i = 0; i < 9; i++)
        last = enter(&ann, 'a');
    assert_true(queue_check(queue, &ann, &err) < 0);
    assert_error(&err, E_BUSY, "too many runs wait");
    for (int i = 0; i < 4; i++) {
        assert_int_equal(queue_check(queue, &bob, &err), 0);
        enter(&bob, 'b');
    }
    /* Half each: now bob has no claim to more. */
    assert_true(queue_check(queue, &bob, &err) < 0);
    assert_error(&err, E_BUSY, "too many runs wait");
    settle(1);
    assert_true(last->is_refused);
    assert_int_equal(last->code, E_BUSY);
    assert_false(items[4].is_refused);
    assert_true(items[5].is_refused);
    drain();
    assert_string_equal(order, "aabababab");
    close_queue();
}

TEST(a_caller_has_so_many_at_once_and_others_pass)
{
    open_queue(4, 64, 60000);
    ann.rights.max_runs = 1;
    for (int i = 0; i < 3; i++)
        enter(&ann, 'a');
    for (int i = 0; i < 2; i++)
        enter(&bob, 'b');
    assert_string_equal(order, "abb");
    assert_int_equal(ann.n_running, 1);
    assert_int_equal(ann.n_waiting, 2);
    drain();
    assert_string_equal(order, "abbaa");
    close_queue();
}

TEST(a_cell_takes_no_room_of_others)
{
    struct item *cell = &items[60];

    open_queue(1, 64, 60000);
    enter(&ann, 'a');
    enter(&ann, 'A');
    *cell = (struct item){.name = 'c',
                          .place = {.caller = &bob,
                                    .has_box = true,
                                    .on_turn = on_turn,
                                    .on_refused = on_refused,
                                    .user = cell}};
    queue_enter(queue, &cell->place);
    assert_string_equal(order, "ac");
    queue_leave(queue, &cell->place);
    drain();
    assert_string_equal(order, "acA");
    close_queue();
}

TEST(who_waits_too_long_or_no_more_is_told_from_the_loop)
{
    struct item *gone, *late;

    open_queue(1, 64, 1);
    enter(&ann, 'a');
    gone = enter(&ann, 'A');
    late = enter(&bob, 'b');
    assert_true(queue_cancel(queue, &gone->place));
    assert_true(queue_cancel(queue, &gone->place)); /* once is enough */
    assert_false(gone->is_refused);
    assert_false(queue_cancel(queue, &items[0].place)); /* it runs */
    while (!late->is_refused || !gone->is_refused)
        settle(50);
    assert_int_equal(gone->code, E_NONE);
    assert_int_equal(late->code, E_BUSY);
    drain();
    assert_string_equal(order, "a");
    assert_int_equal(ann.n_running + bob.n_running + ann.n_waiting + bob.n_waiting, 0);
    close_queue();
}

UNIT_MAIN()
