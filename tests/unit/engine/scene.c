#include "engine/scene.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wire/policy.h"

/* Nothing here takes a tenth of it. */
#define HANG_MS 60000

static size_t open_descriptors(void)
{
    size_t count = 0;

    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* --- driving the loop --- */

static void on_poll(void *arg)
{
    struct scene *s = arg;

    if (s->until(s))
        loop_stop(s->loop);
    else
        loop_timer_start(s->poll, 2);
}

static void on_hang(void *arg)
{
    struct scene *s = arg;

    s->is_hung = true;
    loop_stop(s->loop);
}

void scene_wait(struct scene *s, bool (*until)(struct scene *s))
{
    struct error err = {0};

    s->until = until;
    loop_timer_start(s->poll, 0);
    loop_timer_start(s->hang, HANG_MS);
    assert_int_equal(loop_run(s->loop, &err), 0);
    loop_timer_stop(s->poll);
    loop_timer_stop(s->hang);
    assert_false(s->is_hung);
}

struct pool_level scene_level(const struct scene *s)
{
    struct pool_level now;

    pool_level(s->pool, &now);
    return now;
}

bool scene_stock_is_full(struct scene *s)
{
    return scene_level(s).idle == scene_level(s).wanted && scene_level(s).making == 0;
}

bool scene_zygote_is_ready(struct scene *s)
{
    return pool_zygote(s->pool) && zygote_client_is_ready(pool_zygote(s->pool));
}

bool scene_all_done(struct scene *s)
{
    for (size_t i = 0; i < s->n_tickets; i++)
        if (!s->tickets[i].done)
            return false;
    return true;
}

/* --- the scene --- */

void scene_begin(struct scene *s, struct pool_options options)
{
    struct wire_policy rules = {.profile = span_of("test"),
                                .powers = POLICY_POWERS_ALL,
                                .max_bytes = 1 << 20,
                                .max_lines = 1 << 20};
    struct run *model = run_new();
    static char python[] = "/usr/bin/python3";
    struct error err = {0};

    assert_non_null(model);
    *s = (struct scene){.descriptors = open_descriptors()};
    pack_init(&s->policy, POLICY_BYTES_MAX);
    wire_policy_encode(&rules, &s->policy);
    assert_false(s->policy.failed);
    s->loop = loop_new(&err);
    assert_non_null(s->loop);
    s->poll = loop_timer(s->loop, on_poll, s);
    s->hang = loop_timer(s->loop, on_hang, s);
    assert_int_equal(cgroup_host_open(&s->cgroups, &err), 0);
    if (cgroup_host_path(s->cgroups))
        (void)snprintf(s->cgroup, sizeof(s->cgroup), "%s", cgroup_host_path(s->cgroups));

    options.environment.program = getenv("BELLJAR_ZYGOTE");
    options.environment.python = python;
    options.limits = model->terms.limits;
    run_free(model);
    if (!options.max_active)
        options.max_active = 64;
    s->masks = options.masks = masks_new(NULL, NULL, &err);
    assert_non_null(s->masks);
    options.outside = &s->outside;
    options.egress = &s->egress;
    if (pool_new(s->loop, &options, &s->pool, &err) < 0)
        fail_msg("%s", err.message);
    pool_set_cgroups(s->pool, s->cgroups);
}

/* Ends it and looks for what is left. */
void scene_finish(struct scene *s)
{
    sessions_end(s->sessions);
    pool_free(s->pool);
    sessions_free(s->sessions);
    masks_free(s->masks);
    for (size_t i = 0; i < s->n_tickets; i++) {
        assert_int_equal(s->tickets[i].done, 1);
        run_free(s->tickets[i].run);
    }
    cgroup_host_free(s->cgroups);
    loop_watch_free(s->poll);
    loop_watch_free(s->hang);
    loop_free(s->loop);
    pack_done(&s->policy);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    assert_int_equal(open_descriptors(), s->descriptors);
    if (*s->cgroup)
        assert_int_equal(access(s->cgroup, F_OK), -1);
}

static void on_done(struct run *run)
{
    struct scene_ticket *t = run->user;

    t->done++;
}

static void on_event(struct run *run, const struct run_event *event)
{
    struct scene_ticket *t = run->user;
    size_t len = event->len;

    if (event->kind != RUN_EVENT_STDOUT && event->kind != RUN_EVENT_STDERR)
        return;
    len = len < sizeof(t->out) - 1 - t->out_len ? len : sizeof(t->out) - 1 - t->out_len;
    memcpy(t->out + t->out_len, event->data, len);
    t->out_len += len;
}

struct run *scene_prepare(struct scene *s, const char *code)
{
    struct scene_ticket *t = &s->tickets[s->n_tickets++];
    struct error err = {0};

    assert_true(s->n_tickets <= SCENE_RUNS_MAX);
    t->run = run_new();
    assert_non_null(t->run);
    assert_int_equal(buf_add_str(&t->run->program.code, code, &err), 0);
    t->run->terms.profile = "test";
    t->run->terms.policy = (struct span){(const char *)s->policy.data, s->policy.len};
    t->run->terms.may_spawn = true;
    t->run->terms.limits.timeout_ms = 30000;
    t->run->on_done = on_done;
    t->run->on_event = on_event;
    t->run->user = t;
    return t->run;
}

struct run *scene_submit(struct scene *s, const char *code)
{
    struct run *run = scene_prepare(s, code);

    pool_submit(s->pool, run);
    return run;
}

void scene_assert_ran(const struct scene_ticket *t, const char *out)
{
    assert_int_equal(t->done, 1);
    if (t->run->result.error.code != E_NONE)
        fail_msg("%s", t->run->result.error.message);
    assert_string_equal(run_status_name(t->run->result.status), "success");
    assert_string_equal(t->out, out);
}

int scene_open(struct sessions *table, struct run *model, const struct session_options *options,
               struct session **ret_session, struct error *err)
{
    int r = sessions_open(table, &model->terms, options, ret_session, err);

    run_free(model);
    return r;
}
