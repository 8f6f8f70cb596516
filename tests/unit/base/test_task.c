#include "unit.h"

#include <stdlib.h>

#include "base/fiber.h"
#include "base/loop.h"
#include "base/task.h"

struct scene {
    struct loop *loop;
    struct task task, inner;
    struct loop_work other;
    int pieces; /* of work there are, each two milliseconds */
    int worked; /* of them are done */
    int others; /* turns of somebody else, while the task was paused */
    int done;   /* calls of done() */
    int inner_done;
    uint64_t spent_ns;
    int cancel_at; /* pieces; 0: never */
};

static int setup(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));

    *state = scene;
    if (!scene)
        return -1;
    scene->loop = loop_new(NULL);
    return scene->loop ? 0 : -1;
}

static int teardown(void **state)
{
    struct scene *scene = *state;

    loop_free(scene->loop);
    free(scene);
    return 0;
}

static void work(void *arg)
{
    struct scene *scene = arg;

    for (; scene->worked < scene->pieces && !fiber_is_cancelled(); scene->worked++) {
        uint64_t began_ns = loop_cpu_ns();

        assert_false(task_is_paused(&scene->task));
        while (loop_cpu_ns() - began_ns < 2000000)
            ;
        fiber_pause();
    }
}

static void done(void *arg)
{
    struct scene *scene = arg;

    assert_false(fiber_is_running());
    assert_false(task_is_under_way(&scene->task));
    scene->done++;
    loop_stop(scene->loop);
}

static void spent(void *arg, uint64_t cpu_ns)
{
    struct scene *scene = arg;

    scene->spent_ns += cpu_ns;
    if (scene->cancel_at && scene->worked >= scene->cancel_at)
        task_cancel(&scene->task);
}

static const struct task_steps steps = {work, done, spent};

static void take_turn(void *arg)
{
    struct scene *scene = arg;

    if (!task_is_under_way(&scene->task))
        return;
    assert_true(task_is_paused(&scene->task));
    scene->others++;
    loop_work_post(scene->loop, &scene->other, take_turn, scene);
}

TEST_WITH(short_work_is_done_at_once, setup, teardown)
{
    struct scene *scene = *state;

    task_begin(&scene->task, scene->loop, &steps, scene);
    assert_int_equal(scene->done, 1);
    assert_false(task_end(&scene->task));
}

TEST_WITH(others_have_their_turn_during_long_work, setup, teardown)
{
    struct scene *scene = *state;

    scene->pieces = 10;
    task_begin(&scene->task, scene->loop, &steps, scene);
    assert_true(task_is_under_way(&scene->task));
    assert_true(scene->worked < 4);
    loop_work_post(scene->loop, &scene->other, take_turn, scene);
    assert_return_code(loop_run(scene->loop, NULL), 0);
    assert_int_equal(scene->worked, 10);
    assert_int_equal(scene->done, 1);
    assert_true(scene->others >= 3);
    assert_true(scene->spent_ns >= 20000000);
    loop_work_cancel(&scene->other);
}

TEST_WITH(a_cancelled_task_ends_soon, setup, teardown)
{
    struct scene *scene = *state;

    scene->pieces = 1000;
    scene->cancel_at = 4;
    task_post(&scene->task, scene->loop, &steps, scene);
    assert_int_equal(scene->worked, 0);
    assert_return_code(loop_run(scene->loop, NULL), 0);
    assert_true(scene->worked < 10);
    assert_int_equal(scene->done, 1);
}

TEST_WITH(a_task_that_is_ended_is_not_reported, setup, teardown)
{
    struct scene *scene = *state;

    scene->pieces = 1000;
    task_begin(&scene->task, scene->loop, &steps, scene);
    assert_true(task_end(&scene->task));
    assert_false(task_is_under_way(&scene->task));
    assert_true(scene->worked < 10);
    assert_int_equal(scene->done, 0);
}

static void nothing(void *arg)
{
    (void)arg;
}

static void end_inner(void *arg)
{
    struct scene *scene = arg;

    assert_false(fiber_is_running());
    scene->inner_done++;
    loop_stop(scene->loop);
}

static const struct task_steps inner_steps = {.work = nothing, .done = end_inner};

static void begin_inner(void *arg)
{
    struct scene *scene = arg;

    task_begin(&scene->inner, scene->loop, &inner_steps, scene);
    assert_int_equal(scene->inner_done, 0);
}

static const struct task_steps outer_steps = {.work = begin_inner, .done = nothing};

TEST_WITH(a_task_that_begins_in_another_waits_for_a_turn, setup, teardown)
{
    struct scene *scene = *state;

    task_begin(&scene->task, scene->loop, &outer_steps, scene);
    assert_return_code(loop_run(scene->loop, NULL), 0);
    assert_int_equal(scene->inner_done, 1);
}

UNIT_MAIN()
