/* GET /v1/doctor: what `belljar doctor` says of this host. The command itself is started, by a
 * worker, since it tries things out; its answer is kept for some seconds. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/api.h"
#include "api/worker.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"

#define PATIENCE_MS  30000
#define KEPT_NS      ((uint64_t)10 * 1000000000)
#define REPORT_BYTES MIB

struct waiting {
    struct api *api;
    struct request *request; /* NULL: the client has gone */
};

/* --- in the worker --- */

static void __attribute__((noreturn)) become_doctor(const char *config, int out)
{
    const char *const words[] = {"belljar", "doctor", "--json", config ? "--config" : NULL,
                                 config,    NULL};

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)dup2(out, STDOUT_FILENO);
    (void)execv("/proc/self/exe", (char *const *)words);
    _exit(127);
}

static int read_report(int fd, json_t **ret_answer, struct error *err)
{
    static const struct json_text_limits limits = {
        .bytes = REPORT_BYTES, .depth = 12, .allows_many = true};
    cleanup(buf_done) struct buf text = BUF_OF(REPORT_BYTES);

    if (buf_read_fd(&text, fd, err) < 0)
        return -1;
    if (json_text_load(buf_str(&text), text.len, &limits, ret_answer, NULL) == 0)
        return 0;
    error_set(err, E_SYSTEM, "`belljar doctor` gave no report");
    return error_hint(err, "run it on the host");
}

static int work(const void *arg, json_t **ret_answer, struct error *err)
{
    cleanup_close int out = -1;
    int pipe[2], r;
    pid_t pid;

    if (pipe2(pipe, O_CLOEXEC) < 0)
        return error_errno(err, "pipe2");
    out = pipe[0];
    pid = fork();
    if (pid == 0)
        become_doctor(arg, pipe[1]);
    (void)close(pipe[1]);
    if (pid < 0)
        return error_errno(err, "fork");
    r = read_report(out, ret_answer, err);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return r;
}

/* --- in the server --- */

static void on_gone(struct request *request)
{
    struct waiting *w = request->user;

    w->request = NULL;
}

static void on_done(void *user, json_t *answer, struct error *err)
{
    struct waiting *w = user;
    struct api *api = w->api;
    struct request *request = w->request;

    api->is_doctor_busy = false;
    free(w);
    if (answer) {
        json_decref(api->doctor);
        api->doctor = json_incref(answer);
        api->doctor_ns = loop_now_ns();
    }
    if (!request)
        return;
    request->on_gone = NULL;
    if (answer)
        request_answer_json(request, 200, json_incref(answer));
    else
        request_answer_error(request, err);
}

static int start(struct request *request, struct error *err)
{
    struct api *api = request->api;
    struct worker_task task = {.work = work,
                               .arg = api->config_path,
                               .on_done = on_done,
                               .patience_ms = PATIENCE_MS,
                               .keeps_nothing = true,
                               .allows_many = true,
                               .name = "the examination of the host",
                               .late_hint = "run `belljar doctor` on the host"};
    struct waiting *w;

    if (api->is_doctor_busy) {
        error_set(err, E_BUSY, "the host is already being examined");
        return error_hint(err, "ask again in a few seconds");
    }
    w = calloc(1, sizeof(*w));
    if (!w)
        return error_memory(err);
    *w = (struct waiting){.api = api, .request = request};
    task.user = w;
    if (worker_start(api->loop, &task, err) < 0) {
        free(w);
        return -1;
    }
    api->is_doctor_busy = true;
    request->user = w;
    request->on_gone = on_gone;
    return 0;
}

static void examine(struct request *request)
{
    const struct api *api = request->api;
    struct error err = {0};

    if (api->doctor && loop_now_ns() - api->doctor_ns < KEPT_NS)
        request_answer_json(request, 200, json_incref(api->doctor));
    else if (start(request, &err) < 0)
        request_answer_error(request, &err);
}

/* clang-format off */
const struct route api_doctor_routes[] = {
    {"GET", "/v1/doctor", examine, .access = ROUTE_OPERATOR, .answers = "Doctor", .status = 200, .tag = "meta",
     .summary = "how well the host can isolate, as `belljar doctor --json` says; for operators"},
    {0},
};
/* clang-format on */
