#include "api/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

struct scene {
    struct worker *worker;
    int lines;
    struct loop *loop;
    int calls;
    char answer[64];
    struct error err;
};

static int add(const void *arg, json_t **ret_answer, struct error *err)
{
    (void)err;
    *ret_answer = json_pack("{s:i, s:s}", "pid_differs", *(const pid_t *)arg != getpid(), "error",
                            "a member of the answer");
    return 0;
}

static int find_nothing(const void *arg, json_t **ret_answer, struct error *err)
{
    (void)arg;
    (void)ret_answer;
    error_set(err, E_NOT_FOUND, "nothing is there");
    return error_hint(err, "look elsewhere");
}

static int __attribute__((noreturn))
wait_for_ever(const void *arg, json_t **ret_answer, struct error *err)
{
    (void)arg;
    (void)ret_answer;
    (void)err;
    for (;;)
        (void)pause();
}

static int __attribute__((noreturn))
end_at_once(const void *arg, json_t **ret_answer, struct error *err)
{
    (void)arg;
    (void)ret_answer;
    (void)err;
    _exit(0);
}

static int look_at_fd(const void *arg, json_t **ret_answer, struct error *err)
{
    (void)err;
    *ret_answer = json_pack("{s:b}", "is_open", fcntl(*(const int *)arg, F_GETFD) >= 0);
    return 0;
}

static int tell_much(const void *arg, json_t **ret_answer, struct error *err)
{
    (void)arg;
    (void)err;
    for (int i = 0; i < 3000; i++)
        worker_tell(json_pack("{s:i, s:s}", "n", i, "text", "a line that has \n in it"));
    *ret_answer = json_pack("{s:s}", "last", "two\nlines");
    return 0;
}

static int tell_and_wait(const void *arg, json_t **ret_answer, struct error *err)
{
    worker_tell(json_pack("{s:i}", "n", 0));
    return wait_for_ever(arg, ret_answer, err);
}

static void count_line(void *user, const json_t *line)
{
    struct scene *scene = user;

    assert_int_equal(json_integer_value(json_object_get(line, "n")), scene->lines++);
}

static void cancel_at_line(void *user, const json_t *line)
{
    struct scene *scene = user;

    count_line(user, line);
    worker_cancel(scene->worker);
}

static void on_done(void *user, json_t *answer, struct error *err)
{
    struct scene *scene = user;
    char *text = answer ? json_dumps(answer, JSON_COMPACT | JSON_SORT_KEYS) : NULL;

    scene->calls++;
    (void)snprintf(scene->answer, sizeof(scene->answer), "%s", text ? text : "");
    free(text);
    error_move(&scene->err, err);
    loop_stop(scene->loop);
}

static void run(struct scene *scene, struct worker_task task)
{
    struct error err = {0};

    *scene = (struct scene){0};
    scene->loop = loop_new(&err);
    assert_non_null(scene->loop);
    task.on_done = on_done;
    task.user = scene;
    task.ret_worker = &scene->worker;
    task.name = "the task";
    task.late_hint = "ask for less";
    if (!task.patience_ms)
        task.patience_ms = 60000;
    assert_int_equal(worker_start(scene->loop, &task, &err), 0);
    assert_int_equal(loop_run(scene->loop, &err), 0);
    loop_free(scene->loop);
    assert_int_equal(scene->calls, 1);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* it was waited for */
    assert_int_equal(errno, ECHILD);
}

TEST(an_answer_comes_from_another_process)
{
    struct scene scene;
    pid_t own = getpid();

    run(&scene, (struct worker_task){.work = add, .arg = &own});
    assert_string_equal(scene.answer, "{\"error\":\"a member of the answer\",\"pid_differs\":1}");
    assert_int_equal(scene.err.code, E_NONE);
}

TEST(an_error_keeps_its_code_and_hint)
{
    struct scene scene;

    run(&scene, (struct worker_task){.work = find_nothing});
    assert_string_equal(scene.answer, "");
    assert_int_equal(scene.err.code, E_NOT_FOUND);
    assert_string_equal(scene.err.message, "nothing is there");
    assert_string_equal(scene.err.hint, "look elsewhere");
    error_done(&scene.err);
}

TEST(one_that_takes_too_long_is_stopped)
{
    struct scene scene;

    run(&scene, (struct worker_task){.work = wait_for_ever, .patience_ms = 20});
    assert_int_equal(scene.err.code, E_BUSY);
    assert_string_equal(scene.err.hint, "ask for less");
    error_done(&scene.err);
}

TEST(lines_of_progress_come_before_the_answer_and_in_order)
{
    struct scene scene;

    run(&scene, (struct worker_task){.work = tell_much, .on_progress = count_line});
    assert_int_equal(scene.lines, 3000);
    assert_string_equal(scene.answer, "{\"last\":\"two\\nlines\"}");
}

TEST(lines_that_nobody_wants_are_not_written)
{
    struct scene scene;

    run(&scene, (struct worker_task){.work = tell_much});
    assert_string_equal(scene.answer, "{\"last\":\"two\\nlines\"}");
}

TEST(one_that_is_cancelled_is_an_error)
{
    struct scene scene;

    run(&scene, (struct worker_task){.work = tell_and_wait, .on_progress = cancel_at_line});
    assert_int_equal(scene.lines, 1);
    assert_int_equal(scene.err.code, E_SYSTEM);
    error_done(&scene.err);
}

TEST(one_that_is_lost_is_an_error)
{
    struct scene scene;

    run(&scene, (struct worker_task){.work = end_at_once});
    assert_int_equal(scene.err.code, E_SYSTEM);
    assert_non_null(strstr(scene.err.message, "the task failed"));
    error_done(&scene.err);
}

TEST(descriptors_are_closed_where_asked)
{
    struct scene scene;
    int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 100);

    assert_true(fd >= 0);
    run(&scene, (struct worker_task){.work = look_at_fd, .arg = &fd});
    assert_string_equal(scene.answer, "{\"is_open\":true}");
    run(&scene, (struct worker_task){.work = look_at_fd, .arg = &fd, .keeps_nothing = true});
    assert_string_equal(scene.answer, "{\"is_open\":false}");
    (void)close(fd);
}

UNIT_MAIN()
