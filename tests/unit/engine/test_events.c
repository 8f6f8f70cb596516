/* Events while a program runs, in their order, in real sandboxes. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "engine/scene.h"
#include "engine/session.h"

static char story[4096]; /* the events, as lines */
static uint64_t out_seen, err_seen;

static void tell(const char *text, size_t len)
{
    size_t at = strlen(story);

    assert_true(at + len < sizeof(story));
    memcpy(story + at, text, len);
    story[at + len] = '\0';
}

static void on_event(struct run *run, const struct run_event *event)
{
    char line[200];

    (void)run;
    switch (event->kind) {
    case RUN_EVENT_STDOUT:
        assert_true(event->offset == out_seen);
        out_seen += event->len;
        tell(event->data, event->len);
        return;
    case RUN_EVENT_STDERR:
        assert_true(event->offset == err_seen);
        err_seen += event->len;
        return;
    case RUN_EVENT_DISPLAY:
        (void)snprintf(line, sizeof(line), "display %u: %s\n", (unsigned)event->offset,
                       event->display->forms[event->display->n_forms - 1].data);
        break;
    default:
        (void)snprintf(line, sizeof(line), "progress %u: %u of %u %.*s\n", (unsigned)event->offset,
                       (unsigned)event->done, (unsigned)event->total, (int)event->len, event->data);
    }
    tell(line, strlen(line));
}

static struct run *prepare(struct scene *s, const char *code)
{
    struct run *run = scene_prepare(s, code);

    run->on_event = on_event;
    story[0] = '\0';
    out_seen = err_seen = 0;
    return run;
}

TEST(output_displays_and_progress_come_in_order)
{
    struct scene s;

    scene_begin(&s, (struct pool_options){.size = 1});
    for (int i = 0; i < 5; i++) {
        pool_submit(s.pool, prepare(&s, "from belljar import progress\n"
                                        "for i in range(3):\n"
                                        "    print('before', i)\n"
                                        "    display(i)\n"
                                        "    print('after', i)\n"
                                        "progress(2, 5, 'text')\n"
                                        "progress(1)\n"));
        scene_wait(&s, scene_all_done);
        assert_string_equal(story, "before 0\ndisplay 0: 0\nafter 0\n"
                                   "before 1\ndisplay 1: 1\nafter 1\n"
                                   "before 2\ndisplay 2: 2\nafter 2\n"
                                   "progress 0: 2 of 5 text\nprogress 1: 1 of 0 \n");
    }
    scene_finish(&s);
}

TEST(a_bar_on_standard_error_is_progress)
{
    struct scene s;

    scene_begin(&s, (struct pool_options){.size = 1});
    pool_submit(s.pool,
                prepare(&s, "import sys\n"
                            "sys.stderr.write('\\rload:  50%|##  | 5/10 [00:01<00:01]')\n"));
    scene_wait(&s, scene_all_done);
    assert_string_equal(story, "progress 0: 5 of 10 load\n");
    scene_finish(&s);
}

TEST(a_warm_sandbox_shows_figures_too)
{
    static char *preload[] = {"matplotlib.pyplot"};
    struct scene s;

    scene_begin(&s,
                (struct pool_options){
                    .size = 1, .environment = {.preload = preload, .n_preload = 1, .warm = true}});
    scene_wait(&s, scene_stock_is_full);
    pool_submit(s.pool, prepare(&s, "import matplotlib.pyplot as plt\n"
                                    "plt.plot([1, 2])\nplt.show()\nprint(plt.get_fignums())\n"
                                    "plt.plot([1, 2])\n"));
    scene_wait(&s, scene_all_done);
    assert_string_equal(story, "display 0: <Figure size 640x480 with 1 Axes>\n[]\n"
                               "display 1: <Figure size 640x480 with 1 Axes>\n");
    assert_non_null(run_display_form(&s.tickets[0].run->result.displays[1], "image/png"));
    scene_finish(&s);
}

/* A thread that a cell left behind has nobody to show things to between cells. */
TEST(cells_show_things_and_threads_between_them_do_not)
{
    struct sessions *table;
    struct session *session;
    struct error err = {0};
    struct run *model;
    struct scene s;

    scene_begin(&s, (struct pool_options){0});
    assert_int_equal(sessions_new(s.loop, s.pool,
                                  &(struct sessions_options){.max_total = 1, .max_per_owner = 1},
                                  &table, &err),
                     0);
    model = scene_prepare(&s, "");
    s.n_tickets--;
    assert_int_equal(
        scene_open(table, model, &(struct session_options){.owner = ""}, &session, &err), 0);
    session_submit(session, prepare(&s, "import threading, time\n"
                                        "go = True\n"
                                        "def late():\n"
                                        "    while go:\n"
                                        "        display('late')\n"
                                        "        time.sleep(0.001)\n"
                                        "display('one')\n"
                                        "t = threading.Thread(target=late)\n"
                                        "t.start()\n"));
    scene_wait(&s, scene_all_done);
    assert_int_equal(strncmp(story, "display 0: 'one'\n", 17), 0);
    for (int i = 0; i < 3; i++) {
        session_submit(session, prepare(&s, "time.sleep(0.02)\n"));
        scene_wait(&s, scene_all_done);
        assert_int_equal(s.tickets[i + 1].run->result.status, RUN_SUCCESS);
        assert_int_equal(s.tickets[i + 1].run->result.state, RUN_STATE_KEPT);
    }
    session_submit(session, prepare(&s, "go = False\nt.join()\nprint('end')\n"));
    scene_wait(&s, scene_all_done);
    assert_non_null(strstr(story, "end\n"));
    sessions_end(table);
    scene_finish(&s);
    sessions_free(table);
}

/* --- slow readers --- */

static struct run *held;
static uint64_t held_bytes;
static struct loop_watch *release;

static void hold_at_once(struct run *run, const struct run_event *event)
{
    held_bytes += event->len;
    if (!held) {
        held = run;
        pool_hold(run, true);
        loop_timer_start(release, 300);
    }
}

static void on_release(void *arg)
{
    (void)arg;
    assert_true(held_bytes <= 65536); /* what one look brought, and not the megabytes behind it */
    pool_hold(held, false);
}

TEST(a_slow_reader_makes_the_program_wait)
{
    struct scene s;
    struct run *run;

    scene_begin(&s, (struct pool_options){.size = 1});
    release = loop_timer(s.loop, on_release, NULL);
    run = scene_prepare(&s, "import sys\nfor i in range(64): sys.stdout.write('x' * 65536)\n"
                            "display('end')");
    run->terms.limits.output_bytes = 1 << 20;
    run->on_event = hold_at_once;
    pool_submit(s.pool, run);
    scene_wait(&s, scene_all_done);
    assert_int_equal(run->result.status, RUN_SUCCESS);
    assert_true(run->result.out.total == 4 << 20);
    assert_int_equal(run->result.n_displays, 1);
    loop_watch_free(release);
    scene_finish(&s);
}

UNIT_MAIN()
