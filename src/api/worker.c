#include "api/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/child.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/task.h"

#define ANSWER_BYTES (64 * MIB)
#define DEPTH_MAX    12         /* a record of the trail, and the lists around it */
#define LINE_BYTES   (16 * KIB) /* of progress */

struct worker {
    struct worker_task task; /* without its `arg`, which is the worker's alone */
    pid_t pid;
    int fd;
    struct buf text;
    struct loop *loop;
    struct loop_watch *watch, *patience;
    bool is_late;
    struct task reading; /* of its answer, which may have megabytes: */
    json_t *answer;
    struct error err;
};

/* --- in the worker --- */

static int progress_fd = -1; /* of this process: it has one task */

void worker_tell(json_t *line)
{
    cleanup(buf_done) struct buf text = BUF_OF(LINE_BYTES);

    if (line && progress_fd >= 0 && json_text_dump(line, JSON_TEXT_COMPACT, &text, NULL) == 0 &&
        buf_add_str(&text, "\n", NULL) == 0)
        (void)file_write_all(progress_fd, buf_str(&text), text.len);
    json_decref(line);
}

/* Signals are the server's business: what its handlers write would be read by it. */
static void leave_server(const struct worker_task *task, pid_t server, int out)
{
    child_reset_signals();
    (void)signal(SIGPIPE, SIG_IGN);
    if (!task->outlives_server && (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != server))
        _exit(1);
    /* Also where the server cannot kill it: acting as somebody else takes the signal of the
     * server's end away for a moment. */
    (void)alarm(task->patience_ms / 1000 + 10);
    if (!task->keeps_nothing)
        return;
    if (out > STDERR_FILENO + 1)
        (void)close_range(STDERR_FILENO + 1, (unsigned)out - 1, 0);
    (void)close_range((unsigned)out + 1, ~0U, 0);
}

static json_t *error_json(const struct error *err)
{
    return json_pack("{s:{s:s, s:s, s:s}}", "error", "code", error_code_name(err->code), "message",
                     err->message ? err->message : "it failed", "hint", err->hint ? err->hint : "");
}

static void __attribute__((noreturn)) work_and_exit(const struct worker_task *task, int out)
{
    struct error err = {0};
    struct buf text;
    json_t *answer = NULL, *envelope;

    if (task->on_progress)
        progress_fd = out;
    envelope = task->work(task->arg, &answer, &err) < 0 ? error_json(&err)
                                                        : json_pack("{s:o}", "answer", answer);
    buf_init(&text, ANSWER_BYTES);
    if (envelope && json_text_dump(envelope, JSON_TEXT_COMPACT, &text, NULL) == 0)
        (void)file_write_all(out, buf_str(&text), text.len);
    _exit(0);
}

static pid_t fork_worker(const struct worker_task *task, int out)
{
    pid_t server = getpid(), pid;
    sigset_t all, before;

    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &before);
    pid = fork();
    if (pid == 0) {
        leave_server(task, server, out);
        work_and_exit(task, out);
    }
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return pid;
}

/* --- in the server --- */

static void worker_free(struct worker *w)
{
    loop_watch_free(w->watch);
    loop_watch_free(w->patience);
    buf_done(&w->text);
    close_fd(&w->fd);
    free(w);
}

static void read_error(const json_t *value, struct error *err)
{
    const char *hint = json_string_value(json_object_get(value, "hint"));
    const char *message = json_string_value(json_object_get(value, "message"));

    error_set(err, error_code_by_name(json_string_value(json_object_get(value, "code"))), "%s",
              message ? message : "it failed");
    if (hint && *hint)
        (void)error_hint(err, "%s", hint);
}

/* NULL with an error, or the caller's. */
static json_t *read_answer(const struct worker *w, struct error *err)
{
    const struct json_text_limits limits = {.bytes = ANSWER_BYTES,
                                            .depth = DEPTH_MAX,
                                            .allows_many = w->task.allows_many,
                                            .allows_nul = w->task.allows_nul};
    cleanup_json json_t *envelope = NULL;
    json_t *answer = NULL;

    if (w->is_late) {
        error_set(err, E_BUSY, "%s took longer than %u s, and was stopped", w->task.name,
                  w->task.patience_ms / 1000);
        (void)error_hint(err, "%s", w->task.late_hint);
    } else if (json_text_load(buf_str(&w->text), w->text.len, &limits, &envelope, err) < 0) {
        error_done(err);
        error_set(err, E_SYSTEM, "%s failed: its process was lost", w->task.name);
    } else {
        answer = json_incref(json_object_get(envelope, "answer"));
        if (!answer)
            read_error(json_object_get(envelope, "error"), err);
    }
    return answer;
}

static void read_slowly(void *arg)
{
    struct worker *w = arg;

    w->answer = read_answer(w, &w->err);
}

static void on_read(void *arg)
{
    struct worker *w = arg;
    struct worker_task task = w->task;
    struct error err = {0};
    json_t *answer = w->answer;

    error_move(&err, &w->err);
    worker_free(w);
    task.on_done(task.user, answer, &err);
    error_done(&err);
    json_decref(answer);
}

static void finish(struct worker *w)
{
    static const struct task_steps steps = {.work = read_slowly, .done = on_read};

    while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    loop_watch_free(take_ptr(w->watch));
    loop_timer_stop(w->patience);
    task_begin(&w->reading, w->loop, &steps, w);
}

static void tell_line(const struct worker *w, const char *text, size_t len)
{
    static const struct json_text_limits limits = {
        .bytes = LINE_BYTES, .depth = 4, .allows_nul = true};
    cleanup_json json_t *line = NULL;

    if (json_text_load(text, len, &limits, &line, NULL) == 0)
        w->task.on_progress(w->task.user, line);
}

/* Lines of progress, each with its newline, come before the answer, which has none. Before
 * `looked` there is no newline. */
static void take_lines(struct worker *w, size_t looked)
{
    const char *text = buf_str(&w->text), *end;
    size_t from = 0;

    while ((end = memchr(text + looked, '\n', w->text.len - looked))) {
        tell_line(w, text + from, (size_t)(end - text) - from);
        looked = from = (size_t)(end - text) + 1;
    }
    if (from)
        buf_consume(&w->text, from);
}

static void on_text(void *arg)
{
    struct worker *w = arg;
    char data[65536];
    ssize_t n = read(w->fd, data, sizeof(data));
    size_t before = w->text.len;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0 && buf_add(&w->text, data, (size_t)n, NULL) == 0) {
        if (w->task.on_progress)
            take_lines(w, before);
        return;
    }
    if (n != 0)
        (void)kill(w->pid, SIGKILL);
    finish(w);
}

static void on_late(void *arg)
{
    struct worker *w = arg;

    w->is_late = true;
    (void)kill(w->pid, SIGKILL); /* the end of its pipe follows */
}

/* Takes over `fd`, also when it fails. */
static struct worker *worker_new(struct loop *loop, const struct worker_task *task, int fd)
{
    struct worker *w = calloc(1, sizeof(*w));

    if (!w) {
        (void)close(fd);
        return NULL;
    }
    *w = (struct worker){.task = *task,
                         .fd = fd,
                         .loop = loop,
                         .watch = loop_watch_fd(loop, fd, LOOP_READ, on_text, w),
                         .patience = loop_timer(loop, on_late, w)};
    w->task.arg = NULL;
    buf_init(&w->text, ANSWER_BYTES);
    if (w->watch && w->patience)
        return w;
    worker_free(w);
    return NULL;
}

void worker_cancel(struct worker *worker)
{
    if (worker->watch)
        (void)kill(worker->pid, SIGKILL); /* the end of its pipe follows */
}

int worker_start(struct loop *loop, const struct worker_task *task, struct error *err)
{
    struct worker *w;
    int pipe[2];

    if (pipe2(pipe, O_CLOEXEC) < 0)
        return error_errno(err, "pipe2");
    w = worker_new(loop, task, pipe[0]);
    if (!w) {
        (void)close(pipe[1]);
        return error_memory(err);
    }
    (void)fcntl(pipe[0], F_SETFL, O_NONBLOCK);
    w->pid = fork_worker(task, pipe[1]);
    (void)close(pipe[1]);
    if (w->pid < 0) {
        (void)error_errno(err, "fork");
        worker_free(w);
        return -1;
    }
    loop_timer_start(w->patience, task->patience_ms);
    if (task->ret_worker)
        *task->ret_worker = w;
    return 0;
}
