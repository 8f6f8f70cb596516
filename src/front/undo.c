#include "front/undo.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/json.h"
#include "base/limits.h"
#include "gate/grants.h"
#include "gate/own.h"
#include "sandbox/ns.h"
#include "undo/store.h"

#define PATIENCE_MS  600000
#define ANSWER_BYTES (64 * MIB)
#define JOBS_MAX     4

/* --- what may be written --- */

static bool is_below(const char *path, const char *tree)
{
    size_t len = strlen(tree);

    return strncmp(path, tree, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

static bool may_write(void *arg, const char *path)
{
    const struct undo_wish *wish = arg;

    if (!wish->granted)
        return grants_may_write(wish->config, path);
    for (size_t i = 0; i < wish->granted->n_grants; i++)
        if (wish->granted->grants[i].mode == RUN_GRANT_RW &&
            is_below(path, wish->granted->grants[i].path))
            return true;
    return false;
}

/* --- the trail --- */

static int tell_begin(const struct undo_wish *wish, struct error *err)
{
    const struct witness_undo event = {.event = "undo", .owner = wish->who, .run = wish->run};

    return wish->is_dry ? 0 : witness_undo(wish->witness, &event, err);
}

static void tell_end(const struct undo_wish *wish, const json_t *answer, const struct error *cause)
{
    const struct witness_undo event = {
        .event = "undone",
        .owner = wish->who,
        .run = wish->run,
        .undo = json_string_value(json_object_get(answer, "undo")),
        .done = (uint64_t)json_integer_value(json_object_get(answer, "n_done")),
        .conflicts = (uint64_t)json_integer_value(json_object_get(answer, "n_conflicts")),
        .error = answer ? NULL : cause,
    };

    if (!wish->is_dry)
        (void)witness_undo(wish->witness, &event, NULL);
}

/* --- doing it --- */

static int work(const struct undo_wish *wish, json_t **ret_answer, struct error *err)
{
    const struct undo_store_wish store = {
        .id = wish->run,
        .owner = wish->keeper,
        .is_dry = wish->is_dry,
        .bytes = (uint64_t)wish->config->undo_total_mb * MIB,
        .may_write = wish->is_checked ? may_write : NULL,
        .arg = (void *)wish,
    };

    if (own_places_add(wish->config, err) < 0)
        return -1;
    return undo_store_undo(&store, ret_answer, err);
}

/* An id is a word of the trail: nothing else gets there. */
static int check_id(const char *id, struct error *err)
{
    if (strlen(id) < 32 &&
        strspn(id, "0123456789ABCDEFGHJKMNPQRSTVWXYZabcdefghijklmnopqrstuvwxyz_") == strlen(id))
        return 0;
    error_set(err, E_NOT_FOUND, "`%.40s` is not the id of a run", id);
    return error_hint(err, "the result of a run has it as `id`: run_ and 26 characters");
}

int undo_do(const struct undo_wish *wish, json_t **ret_answer, struct error *err)
{
    int r;

    if (check_id(wish->run, err) < 0 || tell_begin(wish, err) < 0)
        return -1;
    r = work(wish, ret_answer, err);
    tell_end(wish, r == 0 ? *ret_answer : NULL, err);
    return r;
}

/* --- a process of its own --- */

struct job {
    struct job *next;
    struct undo_wish wish;
    char run[32];
    char *who;
    pid_t pid;
    int fd;
    struct buf text;
    struct loop_watch *watch, *patience;
    bool is_late;
    undo_fn fn;
    void *user;
};

static struct job *jobs;

static void __attribute__((noreturn)) work_and_exit(const struct undo_wish *wish, int fd)
{
    struct error err = {0};
    struct buf text;
    json_t *answer = NULL, *envelope;

    if (work(wish, &answer, &err) < 0)
        envelope =
            json_pack("{s:{s:s, s:s, s:s}}", "error", "code", error_code_name(err.code), "message",
                      err.message ? err.message : "it failed", "hint", err.hint ? err.hint : "");
    else
        envelope = json_pack("{s:o}", "answer", answer);
    buf_init(&text, ANSWER_BYTES);
    if (envelope && json_text_dump(envelope, JSON_TEXT_COMPACT, &text, NULL) == 0)
        (void)file_write_all(fd, buf_str(&text), text.len);
    _exit(0);
}

/* Signals are the server's business: what its handlers write would be read by it. An undo goes on
 * when the server ends: what it has begun is better finished. */
static pid_t start_worker(const struct undo_wish *wish, int out)
{
    sigset_t all, before;
    pid_t pid;

    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &before);
    pid = fork();
    if (pid == 0) {
        ns_reset_signals();
        (void)signal(SIGPIPE, SIG_IGN);
        (void)alarm(PATIENCE_MS / 1000 + 10);
        /* Clients of the server, and locks of other runs, are not this one's to hold. */
        if (out > STDERR_FILENO + 1)
            (void)close_range(STDERR_FILENO + 1, (unsigned)out - 1, 0);
        (void)close_range((unsigned)out + 1, ~0U, 0);
        work_and_exit(wish, out);
    }
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return pid;
}

static void job_free(struct job *job)
{
    struct job **at = &jobs;

    while (*at && *at != job)
        at = &(*at)->next;
    if (*at)
        *at = job->next;
    loop_watch_free(job->watch);
    loop_watch_free(job->patience);
    buf_done(&job->text);
    close_fd(&job->fd);
    free(job->who);
    free(job);
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

static void finish(struct job *job)
{
    const struct json_text_limits limits = {.bytes = ANSWER_BYTES, .depth = 8};
    json_t *envelope = NULL, *answer;
    struct error err = {0};
    undo_fn fn = job->fn;
    void *user = job->user;

    while (waitpid(job->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    if (job->is_late) {
        error_set(&err, E_BUSY, "the undo took longer than %d s, and was stopped",
                  PATIENCE_MS / 1000);
        (void)error_hint(&err, "`belljar undo --list` has its own id: undo that first");
    } else if (json_text_load(buf_str(&job->text), job->text.len, &limits, &envelope, &err) < 0) {
        error_done(&err);
        error_set(&err, E_SYSTEM, "the process that undoes the run was lost");
    }
    answer = json_object_get(envelope, "answer");
    if (!answer && err.code == E_NONE)
        read_error(json_object_get(envelope, "error"), &err);
    tell_end(&job->wish, answer, &err);
    job_free(job);
    fn(user, answer, &err);
    error_done(&err);
    json_decref(envelope);
}

static void on_text(void *arg)
{
    struct job *job = arg;
    char data[65536];
    ssize_t n = read(job->fd, data, sizeof(data));

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0 && buf_add(&job->text, data, (size_t)n, NULL) == 0)
        return;
    if (n != 0)
        (void)kill(job->pid, SIGKILL);
    finish(job);
}

static void on_late(void *arg)
{
    struct job *job = arg;

    job->is_late = true;
    (void)kill(job->pid, SIGKILL); /* the end of its pipe follows */
}

/* Takes over `fd`, also when it fails. */
static struct job *job_new(struct loop *loop, const struct undo_wish *wish, int fd, undo_fn fn,
                           void *user)
{
    struct job *job = calloc(1, sizeof(*job));

    if (!job) {
        (void)close(fd);
        return NULL;
    }
    *job = (struct job){.fd = fd,
                        .fn = fn,
                        .user = user,
                        .wish = *wish,
                        .who = strdup(wish->who ? wish->who : ""),
                        .watch = loop_watch_fd(loop, fd, LOOP_READ, on_text, job),
                        .patience = loop_timer(loop, on_late, job)};
    buf_init(&job->text, ANSWER_BYTES);
    (void)snprintf(job->run, sizeof(job->run), "%s", wish->run);
    /* What the trail is told at the end; the rest is the child's alone. */
    job->wish.run = job->run;
    job->wish.who = job->who;
    job->wish.keeper = NULL;
    job->wish.granted = NULL;
    if (!job->who || !job->watch || !job->patience) {
        job_free(job);
        return NULL;
    }
    return job;
}

static int check(const struct undo_wish *wish, struct error *err)
{
    size_t count = 0;

    for (const struct job *j = jobs; j; j = j->next, count++)
        if (strcmp(j->run, wish->run) == 0 || count == JOBS_MAX - 1) {
            error_set(err, E_BUSY, "another undo is going on");
            return error_hint(err, "try again");
        }
    return check_id(wish->run, err);
}

/* Its beginning is in the trail, and so is that nothing came of it. */
static int not_begun(const struct undo_wish *wish, const struct error *err)
{
    tell_end(wish, NULL, err);
    return -1;
}

int undo_start(struct loop *loop, const struct undo_wish *wish, undo_fn fn, void *user,
               struct error *err)
{
    struct job *job;
    int pipe[2];

    if (check(wish, err) < 0 || tell_begin(wish, err) < 0)
        return -1;
    if (pipe2(pipe, O_CLOEXEC) < 0) {
        (void)error_errno(err, "pipe2");
        return not_begun(wish, err);
    }
    job = job_new(loop, wish, pipe[0], fn, user);
    if (!job) {
        (void)close(pipe[1]);
        (void)error_memory(err);
        return not_begun(wish, err);
    }
    (void)fcntl(pipe[0], F_SETFL, O_NONBLOCK);
    job->pid = start_worker(wish, pipe[1]);
    (void)close(pipe[1]);
    if (job->pid < 0) {
        (void)error_errno(err, "fork");
        job_free(job);
        return not_begun(wish, err);
    }
    job->next = jobs;
    jobs = job;
    loop_timer_start(job->patience, PATIENCE_MS);
    return 0;
}
