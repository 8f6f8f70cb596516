/* A process of its own that looks at changes, applies or discards them.
 *
 * It is a fork of the server: it has the descriptors of the layers and everything that texts are
 * masked with, does what it is for, writes one JSON text into a pipe and ends. It dies with the
 * server, and it is killed when it takes too long. The server reads the text like a stranger's.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/json.h"
#include "base/limits.h"
#include "front/changes.h"
#include "sandbox/ns.h"

#define PATIENCE_MS  120000
#define ANSWER_BYTES (64 * MIB)
#define JOBS_MAX     8

struct job {
    struct job *next;
    char session[32];
    struct sessions *sessions; /* where it is, if it is still there at the end */
    char *owner;
    enum changes_action action;
    struct layers *layers;
    pid_t pid;
    int fd;
    struct buf text;
    struct loop_watch *watch, *patience;
    bool is_late;
    changes_fn fn;
    void *user;
};

static struct job *jobs; /* that are at it */

/* --- there --- */

static json_t *bases_json(const struct layers *layers)
{
    json_t *bases = json_array();
    const char *path;
    int64_t ctime_ns;
    uint64_t inode;

    for (size_t i = 0; i < layers_count(layers); i++)
        for (size_t n = 0; (path = layers_base(layers, i, n, &ctime_ns, &inode)); n++)
            (void)json_array_append_new(bases, json_pack("[I, s, I, I]", (json_int_t)i, path,
                                                         (json_int_t)ctime_ns, (json_int_t)inode));
    return bases;
}

static json_t *error_json(const struct error *err)
{
    return json_pack("{s:s, s:s, s:s}", "code", error_code_name(err->code), "message",
                     err->message ? err->message : "it failed", "hint", err->hint ? err->hint : "");
}

static void __attribute__((noreturn))
work(struct layers *layers, struct run *run, const struct changes_wish *wish, int fd)
{
    struct error err = {0};
    struct buf text = {0};
    json_t *answer = NULL, *envelope;
    int r;

    error_done(&run->error);
    r = changes_do(layers, run, wish, &answer, &err);
    if (r == 0 && run->error.code != E_NONE) /* the masker failed */
        r = error_set(&err, E_INTERNAL, "what was changed cannot be shown");
    envelope = r < 0 ? json_pack("{s:o}", "error", error_json(&err))
                     : json_pack("{s:o, s:o, s:s}", "answer", answer, "bases", bases_json(layers),
                                 "shown", layers_shown(layers));
    buf_init(&text, ANSWER_BYTES);
    if (envelope && json_text_dump(envelope, JSON_TEXT_COMPACT, &text, NULL) == 0)
        (void)file_write_all(fd, buf_str(&text), text.len);
    _exit(0);
}

/* Signals are the server's business: what its handlers write would be read by it. */
static void become_worker(pid_t server)
{
    ns_reset_signals();
    (void)signal(SIGPIPE, SIG_IGN);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != server)
        _exit(1);
    /* Acting as somebody else takes that signal away for a moment, in which the server may die. */
    (void)alarm(PATIENCE_MS / 1000 + 10);
}

/* --- here --- */

static void job_free(struct job *job)
{
    struct job **at = &jobs;

    while (*at && *at != job)
        at = &(*at)->next;
    if (*at)
        *at = job->next;
    loop_watch_free(job->watch);
    loop_watch_free(job->patience);
    layers_unref(job->layers);
    buf_done(&job->text);
    free(job->owner);
    close_fd(&job->fd);
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

/* They hold until the layers go; where there is no memory a later change looks like a conflict. */
static void take_bases(struct layers *layers, const json_t *bases)
{
    for (size_t i = 0; i < json_array_size(bases); i++) {
        const json_t *base = json_array_get(bases, i);
        size_t index = (size_t)json_integer_value(json_array_get(base, 0));
        const char *path = json_string_value(json_array_get(base, 1));

        if (path && index < layers_count(layers))
            (void)layers_note_base(layers, index, path, json_integer_value(json_array_get(base, 2)),
                                   (uint64_t)json_integer_value(json_array_get(base, 3)), NULL);
    }
}

/* What was decided on: the version is a hash of everything in the list, contents included. The
 * record `apply` was there before anything was written; when this one cannot be, that one stands.
 */
static void note_applied(const struct job *job, const json_t *answer)
{
    const char *version = json_string_value(json_object_get(answer, "version"));
    struct session *session;
    struct error err = {0};
    char detail[160];

    if (job->action != CHANGES_APPLY || !version)
        return;
    session = sessions_find(job->sessions, job->owner, job->session, &err);
    (void)snprintf(detail, sizeof(detail), "%zu done, %zu skipped, version %.64s",
                   json_array_size(json_object_get(answer, "done")),
                   json_array_size(json_object_get(answer, "skipped")), version);
    if (session)
        (void)session_note(session, "applied", detail, &err);
    error_done(&err);
}

static void finish(struct job *job)
{
    const struct json_text_limits limits = {.bytes = ANSWER_BYTES, .depth = 8, .allows_many = true};
    json_t *envelope = NULL, *answer;
    const char *shown;
    struct error err = {0};
    changes_fn fn = job->fn;
    void *user = job->user;

    while (waitpid(job->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    if (job->is_late) {
        error_set(&err, E_BUSY, "it took longer than %d s, and was stopped", PATIENCE_MS / 1000);
        (void)error_hint(&err, "each file is old or new: look at the changes again");
    } else if (json_text_load(buf_str(&job->text), job->text.len, &limits, &envelope, &err) < 0) {
        error_done(&err);
        error_set(&err, E_SYSTEM, "the process that looks at changes was lost");
    }
    answer = json_object_get(envelope, "answer");
    shown = json_string_value(json_object_get(envelope, "shown"));
    if (answer && shown)
        layers_note_shown(job->layers, shown);
    if (answer) {
        take_bases(job->layers, json_object_get(envelope, "bases"));
        note_applied(job, answer);
    } else if (err.code == E_NONE)
        read_error(json_object_get(envelope, "error"), &err);
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

/* --- beginning --- */

static int check(struct session *session, const struct session_info *info,
                 const struct changes_wish *wish, struct error *err)
{
    size_t count = 0;

    if (info->state == SESSION_STARTING) {
        error_set(err, E_BUSY, "the session is starting");
        return error_hint(err, "try again");
    }
    if (!session_layers(session)) {
        error_set(err, E_INVALID, "the session has no copy-on-write directory");
        return error_hint(err, "open one with `allow`: [\"DIR:cow\"]");
    }
    if (wish->action != CHANGES_SHOW && (info->state == SESSION_BUSY || info->waiting)) {
        error_set(err, E_BUSY, "a cell is running");
        return error_hint(err, "wait for it, or interrupt it");
    }
    for (const struct job *j = jobs; j; j = j->next, count++)
        if (strcmp(j->session, info->id) == 0 || count == JOBS_MAX - 1) {
            error_set(err, E_BUSY, "changes are being looked at already");
            return error_hint(err, "try again");
        }
    return 0;
}

static int note(struct session *session, const struct changes_wish *wish, struct error *err)
{
    char detail[192], what[48], hidden[64] = "";
    size_t n = json_array_size(wish->paths);

    if (wish->action == CHANGES_SHOW)
        return 0;
    if (n)
        (void)snprintf(what, sizeof(what), "%zu path(s)", n);
    else
        (void)snprintf(what, sizeof(what), "all");
    if (wish->accept_hidden)
        (void)snprintf(hidden, sizeof(hidden), ", accepting %llu hidden bytes",
                       (unsigned long long)wish->accept_hidden);
    (void)snprintf(detail, sizeof(detail), "%s%s%s", what, wish->is_forced ? ", forced" : "",
                   hidden);
    return session_note(session, wish->action == CHANGES_APPLY ? "apply" : "discard", detail, err);
}

static pid_t start_worker(struct session *session, const struct changes_wish *wish, int out)
{
    pid_t server = getpid(), pid;
    sigset_t all, before;

    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &before);
    pid = fork();
    if (pid == 0) {
        become_worker(server);
        work(session_layers(session), session_model(session), wish, out);
    }
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return pid;
}

/* Takes over `fd`, also when it fails. */
static struct job *job_new(struct loop *loop, struct session *session, enum changes_action action,
                           int fd, changes_fn fn, void *user)
{
    struct session_info info;
    struct job *job = calloc(1, sizeof(*job));

    if (!job) {
        (void)close(fd);
        return NULL;
    }
    session_info(session, &info);
    *job = (struct job){.next = jobs,
                        .fd = fd,
                        .fn = fn,
                        .user = user,
                        .layers = layers_ref(session_layers(session)),
                        .sessions = session_table(session),
                        .owner = info.owner ? strdup(info.owner) : NULL,
                        .action = action,
                        .watch = loop_watch_fd(loop, fd, LOOP_READ, on_text, job),
                        .patience = loop_timer(loop, on_late, job)};
    (void)snprintf(job->session, sizeof(job->session), "%s", info.id);
    buf_init(&job->text, ANSWER_BYTES);
    if (!job->watch || !job->patience) {
        job_free(job);
        return NULL;
    }
    return job;
}

int changes_start(struct loop *loop, struct session *session, const struct changes_wish *wish,
                  changes_fn fn, void *user, struct error *err)
{
    struct session_info info;
    struct job *job;
    int pipe[2];

    session_info(session, &info);
    if (check(session, &info, wish, err) < 0 || note(session, wish, err) < 0)
        return -1;
    if (pipe2(pipe, O_CLOEXEC) < 0)
        return error_errno(err, "pipe2");
    job = job_new(loop, session, wish->action, pipe[0], fn, user);
    if (!job) {
        (void)close(pipe[1]);
        return error_memory(err);
    }
    (void)fcntl(pipe[0], F_SETFL, O_NONBLOCK);
    job->pid = start_worker(session, wish, pipe[1]);
    (void)close(pipe[1]);
    if (job->pid < 0) {
        (void)error_errno(err, "fork");
        job_free(job);
        return -1;
    }
    jobs = job;
    loop_timer_start(job->patience, PATIENCE_MS);
    return 0;
}
