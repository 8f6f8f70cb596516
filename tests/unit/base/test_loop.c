#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/loop.h"

/* Shared by the callbacks. */
struct scene {
    struct loop *loop;
    struct loop_watch *watch;
    struct loop_watch *timer;
    int fds[2];
    int calls;
    int stop_after;
};

static int setup(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    struct error err = {0};

    *state = scene;
    if (!scene || pipe2(scene->fds, O_CLOEXEC | O_NONBLOCK) < 0)
        return -1;
    scene->loop = loop_new(&err);
    scene->stop_after = 1;
    return scene->loop ? 0 : -1;
}

static int teardown(void **state)
{
    struct scene *scene = *state;

    loop_watch_free(scene->watch);
    loop_watch_free(scene->timer);
    loop_free(scene->loop);
    (void)close(scene->fds[0]);
    (void)close(scene->fds[1]);
    free(scene);
    return 0;
}

static void run(struct scene *scene)
{
    struct error err = {0};

    assert_int_equal(loop_run(scene->loop, &err), 0);
}

static void count(void *arg)
{
    struct scene *scene = arg;

    if (++scene->calls >= scene->stop_after)
        loop_stop(scene->loop);
}

static void stop(void *arg)
{
    loop_stop(((struct scene *)arg)->loop);
}

TEST_WITH(a_readable_descriptor_is_told_until_it_is_read, setup, teardown)
{
    struct scene *scene = *state;

    scene->stop_after = 3;
    scene->watch = loop_watch_fd(scene->loop, scene->fds[0], LOOP_READ, count, scene);
    assert_non_null(scene->watch);
    assert_int_equal(write(scene->fds[1], "x", 1), 1);
    run(scene);
    assert_int_equal(scene->calls, 3);
}

TEST_WITH(a_file_is_always_ready, setup, teardown)
{
    struct scene *scene = *state;
    int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    scene->stop_after = 3;
    scene->watch = loop_watch_fd(scene->loop, fd, LOOP_READ, count, scene);
    assert_non_null(scene->watch);
    run(scene);
    assert_int_equal(scene->calls, 3);
    (void)close(fd);
}

TEST_WITH(a_writable_descriptor_is_told, setup, teardown)
{
    struct scene *scene = *state;

    scene->watch = loop_watch_fd(scene->loop, scene->fds[1], LOOP_WRITE, count, scene);
    run(scene);
    assert_int_equal(scene->calls, 1);
}

TEST_WITH(a_timer_fires_once, setup, teardown)
{
    struct scene *scene = *state;

    scene->stop_after = 100;
    scene->timer = loop_timer(scene->loop, count, scene);
    scene->watch = loop_timer(scene->loop, stop, scene);
    loop_timer_start(scene->timer, 1);
    loop_timer_start(scene->watch, 30);
    run(scene);
    assert_int_equal(scene->calls, 1);
}

TEST_WITH(timers_fire_in_the_order_of_their_times, setup, teardown)
{
    struct scene *scene = *state;

    /* The longer one is started first; it stops the loop only if it also fires first. */
    scene->timer = loop_timer(scene->loop, stop, scene);
    scene->watch = loop_timer(scene->loop, count, scene);
    loop_timer_start(scene->timer, 10000);
    loop_timer_start(scene->watch, 1);
    run(scene);
    assert_int_equal(scene->calls, 1);
}

TEST_WITH(starting_a_running_timer_puts_it_off, setup, teardown)
{
    struct scene *scene = *state;

    scene->timer = loop_timer(scene->loop, count, scene);
    scene->watch = loop_timer(scene->loop, stop, scene);
    loop_timer_start(scene->timer, 1);
    loop_timer_start(scene->timer, 100000);
    loop_timer_start(scene->watch, 20);
    run(scene);
    assert_int_equal(scene->calls, 0);
}

TEST_WITH(the_clock_does_not_go_back, setup, teardown)
{
    uint64_t before = loop_now_ns();

    assert_true(before > 0);
    assert_true(loop_now_ns() >= before);
}

TEST_WITH(a_stopped_timer_does_not_fire, setup, teardown)
{
    struct scene *scene = *state;

    scene->timer = loop_timer(scene->loop, count, scene);
    scene->watch = loop_timer(scene->loop, stop, scene);
    loop_timer_start(scene->timer, 1);
    loop_timer_stop(scene->timer);
    loop_timer_start(scene->watch, 20);
    run(scene);
    assert_int_equal(scene->calls, 0);
}

TEST_WITH(a_signal_arrives_in_the_loop, setup, teardown)
{
    struct scene *scene = *state;

    scene->watch = loop_watch_signal(scene->loop, SIGUSR1, count, scene);
    assert_non_null(scene->watch);
    assert_int_equal(raise(SIGUSR1), 0);
    run(scene);
    assert_int_equal(scene->calls, 1);
}

static void free_itself(void *arg)
{
    struct scene *scene = arg;

    loop_watch_free(scene->watch);
    scene->watch = NULL;
    count(scene);
}

TEST_WITH(a_watch_may_free_itself_in_its_callback, setup, teardown)
{
    struct scene *scene = *state;

    scene->watch = loop_watch_fd(scene->loop, scene->fds[1], LOOP_WRITE, free_itself, scene);
    run(scene);
    assert_int_equal(scene->calls, 1);

    scene->timer = loop_timer(scene->loop, stop, scene);
    loop_timer_start(scene->timer, 1);
    run(scene);
    assert_int_equal(scene->calls, 1);
}

/* --- posted work --- */

struct piece {
    struct loop_work work;
    struct scene *scene;
    char name;
    uint64_t cpu_ns; /* that one of it takes */
    int left;
};

static char told[64];

static void do_piece(void *arg)
{
    struct piece *piece = arg;
    uint64_t began_ns = loop_cpu_ns();

    while (loop_cpu_ns() - began_ns < piece->cpu_ns)
        ;
    (void)snprintf(told + strlen(told), sizeof(told) - strlen(told), "%c", piece->name);
    if (--piece->left > 0)
        loop_work_post(piece->scene->loop, &piece->work, do_piece, piece);
    else
        count(piece->scene);
}

TEST_WITH(posted_work_takes_turns, setup, teardown)
{
    struct scene *scene = *state;
    struct piece a = {.scene = scene, .name = 'a', .left = 3},
                 b = {.scene = scene, .name = 'b', .left = 2},
                 c = {.scene = scene, .name = 'c', .left = 1};

    told[0] = '\0';
    scene->stop_after = 3;
    loop_work_post(scene->loop, &a.work, do_piece, &a);
    loop_work_post(scene->loop, &a.work, do_piece, &a); /* it is posted once */
    loop_work_post(scene->loop, &b.work, do_piece, &b);
    loop_work_post(scene->loop, &c.work, do_piece, &c);
    run(scene);
    assert_string_equal(told, "abcaba");
}

TEST_WITH(cancelled_work_is_not_done, setup, teardown)
{
    struct scene *scene = *state;
    struct piece a = {.scene = scene, .name = 'a', .left = 1},
                 b = {.scene = scene, .name = 'b', .left = 1},
                 c = {.scene = scene, .name = 'c', .left = 1};

    told[0] = '\0';
    scene->stop_after = 1;
    loop_work_post(scene->loop, &a.work, do_piece, &a);
    loop_work_post(scene->loop, &b.work, do_piece, &b);
    loop_work_post(scene->loop, &c.work, do_piece, &c);
    loop_work_cancel(&a.work);
    loop_work_cancel(&c.work);
    loop_work_cancel(&c.work);
    run(scene);
    assert_string_equal(told, "b");
}

/* However much there is in a line, it has one place in the order. */
TEST_WITH(lines_take_turns, setup, teardown)
{
    struct scene *scene = *state;
    struct loop_line loud = {0}, quiet = {0};
    struct piece pieces[7];

    told[0] = '\0';
    for (size_t i = 0; i < ARRAY_SIZE(pieces); i++)
        pieces[i] = (struct piece){.scene = scene, .name = (char)('a' + i), .left = 1};
    scene->stop_after = 6;
    for (size_t i = 0; i < 4; i++)
        loop_line_post(scene->loop, &loud, &pieces[i].work, do_piece, &pieces[i]);
    loop_line_post(scene->loop, &quiet, &pieces[4].work, do_piece, &pieces[4]);
    loop_line_post(scene->loop, &quiet, &pieces[5].work, do_piece, &pieces[5]);
    loop_line_post(scene->loop, NULL, &pieces[6].work, do_piece, &pieces[6]);
    loop_work_cancel(&pieces[1].work);
    assert_false(loop_line_is_empty(&loud));
    run(scene);
    assert_string_equal(told, "aegcfd");
    assert_true(loop_line_is_empty(&loud) && loop_line_is_empty(&quiet));
}

TEST_WITH(a_line_whose_work_is_cancelled_is_passed_over, setup, teardown)
{
    struct scene *scene = *state;
    struct loop_line line = {0};
    struct piece a = {.scene = scene, .name = 'a', .left = 1},
                 b = {.scene = scene, .name = 'b', .left = 1};

    told[0] = '\0';
    scene->stop_after = 1;
    loop_line_post(scene->loop, &line, &a.work, do_piece, &a);
    loop_work_cancel(&a.work);
    loop_work_post(scene->loop, &b.work, do_piece, &b);
    run(scene);
    assert_string_equal(told, "b");
}

static void note_turn(void *arg, uint64_t cpu_ns, uint64_t wall_ns)
{
    uint64_t *longest = arg;

    (void)wall_ns;
    if (cpu_ns > *longest)
        *longest = cpu_ns;
}

static void tell_descriptor(void *arg)
{
    struct scene *scene = arg;
    char byte;

    assert_int_equal(read(scene->fds[0], &byte, 1), 1);
    (void)snprintf(told + strlen(told), sizeof(told) - strlen(told), "!");
}

/* Work without end does not keep a descriptor waiting: it has a few milliseconds per turn. */
TEST_WITH(posted_work_lets_others_in, setup, teardown)
{
    struct scene *scene = *state;
    struct piece a = {.scene = scene, .name = 'a', .left = 20, .cpu_ns = 2000000};
    uint64_t longest_ns = 0;
    const char *mark;

    told[0] = '\0';
    scene->stop_after = 1;
    loop_on_turn(scene->loop, note_turn, &longest_ns);
    loop_work_post(scene->loop, &a.work, do_piece, &a);
    scene->watch = loop_watch_fd(scene->loop, scene->fds[0], LOOP_READ, tell_descriptor, scene);
    assert_int_equal(write(scene->fds[1], "x", 1), 1);
    run(scene);
    mark = strchr(told, '!');
    assert_non_null(mark);
    assert_true(mark - told <= 3);
    assert_true(longest_ns >= 2000000);
    assert_true(longest_ns < 20 * 2000000); /* it was cut up */
}

/* --- CPU time --- */

/* By the system's clock. */
static uint64_t true_cpu_ns(void)
{
    struct timespec now;

    assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), 0);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* More than the clock may be wrong, and far less than what is slept below. */
#define CLOCK_ERROR_NS ((uint64_t)1000000)

static void check_clock(void)
{
    uint64_t before_ns = true_cpu_ns(), said_ns = loop_cpu_ns(), after_ns = true_cpu_ns();

    assert_true(said_ns + CLOCK_ERROR_NS >= before_ns);
    assert_true(said_ns <= after_ns + CLOCK_ERROR_NS);
}

TEST_WITH(the_cpu_clock_follows_the_systems, setup, teardown)
{
    uint64_t until_ns = true_cpu_ns() + 5000000, last_ns = 0, now_ns;

    while (true_cpu_ns() < until_ns) {
        now_ns = loop_cpu_ns();
        assert_true(now_ns >= last_ns);
        last_ns = now_ns;
        check_clock();
    }
}

TEST_WITH(the_cpu_clock_stands_while_nothing_is_done, setup, teardown)
{
    struct scene *scene = *state;
    uint64_t began_ns = loop_cpu_ns(), true_ns = true_cpu_ns();

    for (int i = 0; i < 20; i++) /* sleep outside of the loop, */
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    scene->timer = loop_timer(scene->loop, count, scene);
    loop_timer_start(scene->timer, 20); /* and in it */
    run(scene);
    assert_true(loop_cpu_ns() - began_ns <= true_cpu_ns() - true_ns + CLOCK_ERROR_NS);
    check_clock();
}

/* Its CPU time begins at zero. */
TEST_WITH(a_child_has_a_cpu_clock_of_its_own, setup, teardown)
{
    uint64_t until_ns = true_cpu_ns() + 5000000;
    int status = -1;
    pid_t pid;

    while (true_cpu_ns() < until_ns)
        (void)loop_cpu_ns();
    pid = fork();
    if (pid == 0)
        _exit(loop_cpu_ns() <= true_cpu_ns() + CLOCK_ERROR_NS ? 0 : 1);
    assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
    assert_int_equal(status, 0);
}

TEST_WITH(freeing_nothing_is_allowed, setup, teardown)
{
    loop_watch_free(NULL);
    loop_free(NULL);
}

UNIT_MAIN()
