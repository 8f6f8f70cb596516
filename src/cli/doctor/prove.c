#include "cli/doctor/prove.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/language.h"
#include "base/limits.h"
#include "base/paths.h"
#include "base/terminal_text.h"
#include "cli/doctor/prove_bait.h"
#include "cli/doctor/prove_program.h"

/* Beyond its own limit a program gets this long before it counts as hung; a busy host is no breach.
 */
#define HANG_SECONDS 30

/* Two streams, a result and a traceback, up to six bytes of JSON for one. */
#define ANSWER_BYTES_MAX (64 * MIB)

/* For a run that is told to stop, with us. */
#define STOP_SECONDS 5

enum verdict { PROVE_OK, PROVE_BREACH, PROVE_UNEXPECTED, PROVE_KNOWN };

struct outcome {
    enum verdict verdict;
    char got[32];
    const char *why;
    char *output;    /* stdout of the program */
    bool has_status; /* it ran: Belljar itself did not fail */
    bool has_cgroup; /* one counted for it */
};

/* Shared by all programs. */
struct suite {
    struct bait *bait;
    bool is_on_host; /* at isolation `process` */
    char path[32];   /* where the program stands that is run */
    int stop;        /* can be read when a signal has come that would end us */
    sigset_t before; /* the signals that were blocked already */
};

/* "timeout=2 memory=128" to "--timeout=2" "--memory=128", with the defaults of the suite first: the
 * last one counts. */
static void add_limits(const struct program *p, char words[][32], const char **argv, size_t *argc)
{
    const char *at = p->limits;
    size_t n = 0;

    argv[(*argc)++] = "--timeout=5";
    argv[(*argc)++] = "--memory=256";
    argv[(*argc)++] = "--pids=64";
    argv[(*argc)++] = "--disk=64";
    while (*at && n < PROGRAM_TEXTS_MAX) {
        size_t len = strcspn(at, " ");

        (void)snprintf(words[n], sizeof(words[n]), "--%.*s", (int)len, at);
        argv[(*argc)++] = words[n++];
        at += len + strspn(at + len, " ");
    }
}

static int timeout_of(const struct program *p)
{
    const char *at = strstr(p->limits, "timeout=");

    return at ? (int)strtol(at + strlen("timeout="), NULL, 10) : 5;
}

/* --- being stopped --- */

/* Signals that would end us wait while there is bait to be cleared away; then they do. */
static int hold_signals(sigset_t *ret_before)
{
    sigset_t ends;

    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGINT);
    (void)sigaddset(&ends, SIGTERM);
    (void)sigaddset(&ends, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &ends, ret_before);
    return signalfd(-1, &ends, SFD_CLOEXEC);
}

static bool is_readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, 0) == 1;
}

/* --- one program --- */

/* Until the child ends, `stop` can be read, or for so long. Where a pidfd cannot be had the child
 * is asked again and again: a program that is fine must not be taken for one that hangs. */
static bool wait_end(pid_t pid, int stop, int timeout_ms)
{
    cleanup_close int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd wait[] = {{.fd = pidfd, .events = POLLIN}, {.fd = stop, .events = POLLIN}};
    siginfo_t info = {0};
    int ready;

    for (int waited = 0; pidfd < 0 && waited < timeout_ms && !is_readable(stop); waited += 20) {
        if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid)
            return true;
        (void)nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    if (pidfd < 0)
        return false;
    do
        ready = poll(wait, ARRAY_SIZE(wait), timeout_ms);
    while (ready < 0 && errno == EINTR);
    return ready > 0 && wait[0].revents;
}

/* Runs `belljar run` on the file; both its streams end in `out_fd`. Returns 0, or -1 when it hangs
 * or cannot be started. */
static int run_once(const struct program *p, const struct suite *suite, int out_fd)
{
    char words[PROGRAM_TEXTS_MAX][32];
    char *grants[BAIT_GRANTS] = {0};
    const char *argv[32 + BAIT_GRANTS] = {
        "belljar", "run", "--json", "--profile", p->profile, "-l", languages[p->language].name};
    size_t argc = 7;
    bool has_ended;
    pid_t pid;
    int status;

    add_limits(p, words, argv, &argc);
    argv[argc++] = suite->is_on_host ? "--isolation=process" : "--isolation=namespaces";
    for (size_t i = 0; p->has_grants && i < suite->bait->n_grants; i++)
        if (asprintf(&grants[i], "--allow=%s:ro", suite->bait->grants[i]) > 0)
            argv[argc++] = grants[i];
    argv[argc++] = suite->path;
    pid = fork();
    if (pid != 0)
        for (size_t i = 0; i < BAIT_GRANTS; i++)
            free(grants[i]);
    if (pid < 0)
        return -1;
    if (pid == 0) {
        int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

        if (null < 0 || dup2(null, 0) < 0 || dup2(out_fd, 1) < 0 || dup2(out_fd, 2) < 0 ||
            setenv("BELLJAR_TEST_SECRET", suite->bait->secret, 1) < 0)
            _exit(125);
        (void)sigprocmask(SIG_SETMASK, &suite->before, NULL);
        (void)execv("/proc/self/exe", (char *const *)argv);
        _exit(125);
    }
    has_ended = wait_end(pid, suite->stop, (timeout_of(p) + HANG_SECONDS) * 1000);
    if (!has_ended && is_readable(suite->stop)) {
        (void)kill(pid, SIGTERM);
        has_ended = wait_end(pid, -1, STOP_SECONDS * 1000);
    }
    if (!has_ended)
        (void)kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return has_ended ? 0 : -1;
}

static bool has_word(const char *list, const char *word)
{
    size_t len = strlen(word);

    for (const char *at = list; (at = strstr(at, word)); at += len)
        if ((at == list || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\0'))
            return true;
    return false;
}

/* A process by that name, anywhere on this host. */
static bool is_there(const char *name)
{
    bool found = false;
    glob_t comms = {0};

    if (glob("/proc/[0-9]*/comm", GLOB_NOSORT, NULL, &comms) != 0)
        return false;
    for (size_t i = 0; i < comms.gl_pathc && !found; i++) {
        cleanup_fclose FILE *file = fopen(comms.gl_pathv[i], "re");
        char comm[32] = "";

        found = file && fgets(comm, sizeof(comm), file) && strstr(comm, name);
    }
    globfree(&comms);
    return found;
}

/* The kernel clears a pid namespace away in its own time; what is still there after that was left.
 */
static bool is_left(const char *name)
{
    for (int i = 0; i < 100; i++) {
        if (!is_there(name))
            return false;
        (void)nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    return true;
}

/* A breach that the bait shows counts at every level. */
static const char *breach_outside(const struct suite *suite, const char *answer)
{
    const char *touched = bait_touched(suite->bait);

    if (strstr(answer, suite->bait->token) || strstr(answer, suite->bait->secret))
        return "its answer contains a secret from outside";
    if (touched)
        return touched;
    return is_left(suite->bait->orphan) ? "a process was left behind" : NULL;
}

static const char *breach_in(const struct program *p, const char *answer)
{
    if (strstr(answer, "ESCAPED:") || strstr(answer, "UNFILTERED:"))
        return "it says so";
    for (size_t i = 0; i < PROGRAM_TEXTS_MAX && p->forbid[i]; i++)
        if (strstr(answer, p->forbid[i]))
            return "its answer contains what it must not";
    return NULL;
}

/* From Belljar's own list in the answer: the rest of it is the program's to write. */
static bool has_cgroup(const json_t *json)
{
    const json_t *layers = json_object_get(json, "layers");

    for (size_t i = 0; i < json_array_size(layers); i++) {
        const char *name = json_string_value(json_array_get(layers, i));

        if (name && (strcmp(name, "cgroup-v1") == 0 || strcmp(name, "cgroup-v2") == 0))
            return true;
    }
    return false;
}

/* The status of the answer, and whether the output has what it must have. */
static void judge_answer(const struct program *p, const struct buf *answer, struct outcome *o)
{
    const struct json_text_limits limits = {
        .bytes = ANSWER_BYTES_MAX, .depth = 2000, .allows_nul = true};
    json_t *json = NULL;
    const char *status, *output, *code;

    /* Notes on stderr may stand before or behind the object, which is the only line that begins
     * with a brace. */
    const char *start = strchr(buf_str(answer), '{');
    const char *end = start ? strrchr(start, '}') : NULL;

    if (!end || json_text_load(start, (size_t)(end - start) + 1, &limits, &json, NULL) < 0) {
        o->why = "no answer";
        return;
    }
    status = json_string_value(json_object_get(json, "status"));
    output = json_string_value(json_object_get(json, "stdout"));
    code = json_string_value(json_object_get(json_object_get(json, "error"), "code"));
    o->has_status = status;
    o->has_cgroup = has_cgroup(json);
    /* A source that is too large is a mistake of the caller like any other. */
    if (!status && code)
        status = strcmp(code, "too_large") == 0 ? "invalid" : code;
    (void)snprintf(o->got, sizeof(o->got), "%s", status ? status : "failed");
    if (!has_word(p->expect, o->got))
        o->why = "another status";
    for (size_t i = 0; i < PROGRAM_TEXTS_MAX && p->require[i] && !o->why; i++)
        if (!output || !strstr(output, p->require[i]))
            o->why = "its output lacks the expected text";
    o->output = output ? strdup(output) : NULL;
    json_decref(json);
}

/* A missing cgroup, or this level, explains another end than the promised one. It never explains a
 * breach that the bait shows. */
static void excuse(const struct program *p, const struct suite *suite, const char *answer,
                   struct outcome *o)
{
    const char *reason = NULL;

    if (suite->is_on_host && p->uncovered && (o->verdict != PROVE_OK || breach_in(p, answer)))
        reason = p->uncovered;
    else if (o->verdict == PROVE_UNEXPECTED && suite->is_on_host && p->process)
        reason = p->process;
    else if (o->verdict == PROVE_UNEXPECTED && p->needs_cgroup && !o->has_cgroup)
        reason = "this needs a cgroup, and there is none here";
    if (!reason)
        return;
    o->verdict = PROVE_KNOWN;
    o->why = reason;
}

static int try_program(const struct program *p, const struct suite *suite, struct outcome *o,
                       struct error *err)
{
    cleanup_close int file = open(suite->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    cleanup_close int out = memfd_create("answer", MFD_CLOEXEC);
    cleanup(buf_done) struct buf answer = BUF_OF(ANSWER_BYTES_MAX);
    const char *breach;
    int r;

    *o = (struct outcome){.verdict = PROVE_UNEXPECTED, .got = "-"};
    if (file < 0 || out < 0 ||
        write(file, buf_str(&p->source), p->source.len) != (ssize_t)p->source.len)
        return error_errno(err, "write %s", suite->path);
    r = run_once(p, suite, out);
    if (is_readable(suite->stop))
        return error_set(err, E_BUSY, "stopped by a signal");
    if (lseek(out, 0, SEEK_SET) < 0 || buf_read_fd(&answer, out, err) < 0)
        return error_wrap(err, "answer to %s", p->id);
    if (r < 0)
        o->why = "no end";
    else
        judge_answer(p, &answer, o);
    breach = breach_outside(suite, buf_str(&answer));
    if (!breach && !(suite->is_on_host && p->uncovered))
        breach = breach_in(p, buf_str(&answer));
    if (breach)
        o->why = breach;
    o->verdict = breach ? PROVE_BREACH : o->why ? PROVE_UNEXPECTED : PROVE_OK;
    if (!breach && o->has_status)
        excuse(p, suite, buf_str(&answer), o);
    return 0;
}

/* As often as the program asks for; the first bad outcome counts. */
static int prove_program(const struct program *p, const struct suite *suite,
                         struct outcome *ret_outcome, struct error *err)
{
    cleanup_free char *before = NULL;
    int r = 0;

    *ret_outcome =
        (struct outcome){.verdict = PROVE_UNEXPECTED, .got = "-", .why = "it was not tried"};
    for (long i = 0; i < p->runs && r == 0; i++) {
        r = try_program(p, suite, ret_outcome, err);
        if (r == 0 && ret_outcome->verdict == PROVE_OK && p->must_differ && before &&
            ret_outcome->output && strcmp(before, ret_outcome->output) == 0) {
            ret_outcome->verdict = PROVE_BREACH;
            ret_outcome->why = "two runs are alike";
        }
        free(before);
        before = take_ptr(ret_outcome->output);
        if (r == 0 && ret_outcome->verdict != PROVE_OK)
            break;
    }
    return r;
}

static int find_corpus(glob_t *ret_files, struct error *err)
{
    cleanup_free char *dir = paths_data("escape", err);
    cleanup_free char *pattern = NULL;

    if (!dir)
        return -1;
    if (asprintf(&pattern, "%s/*/*.[pjs][yhs]", dir) < 0)
        return error_memory(err);
    if (glob(pattern, 0, NULL, ret_files) == 0)
        return 0;
    error_set(err, E_NOT_FOUND, "no escape programs in `%s`", dir);
    return error_hint(err, "install them with `make install`, or run Belljar from its checkout");
}

static void count(struct prove_totals *totals, const struct program *p, const struct outcome *o)
{
    static const char *const words[] = {"ok", "BREACH", "unexpected", "known gap"};

    (void)printf("%-36s %-9s %-9s %-32s %-16s %s%s%s\n", p->id, p->category, p->profile, p->expect,
                 o->got, words[o->verdict], o->why ? ": " : "", o->why ? o->why : "");
    (void)fflush(stdout);
    totals->passed += o->verdict == PROVE_OK;
    totals->breaches += o->verdict == PROVE_BREACH;
    totals->unexpected += o->verdict == PROVE_UNEXPECTED;
    totals->gaps += o->verdict == PROVE_KNOWN;
}

static int prove_all(const glob_t *files, const struct suite *suite, struct prove_totals *totals,
                     struct error *err)
{
    bool shows_progress = isatty(STDERR_FILENO) == 1;
    int r = 0;

    (void)printf("%-36s %-9s %-9s %-32s %-16s %s\n", "program", "category", "profile", "expected",
                 "got", "verdict");
    for (size_t i = 0; i < files->gl_pathc && r == 0; i++) {
        cleanup(program_done) struct program p = {0};
        struct outcome outcome;

        r = program_load(files->gl_pathv[i], suite->bait, &p, err);
        if (r == 0 && !language_is_installed(p.language))
            continue;
        if (r == 0 && shows_progress)
            (void)fprintf(stderr, "\r\033[K%zu of %zu: %s\r", i + 1, files->gl_pathc, p.id);
        if (r == 0)
            r = prove_program(&p, suite, &outcome, err);
        if (shows_progress)
            (void)fputs("\033[K", stderr);
        if (r == 0)
            count(totals, &p, &outcome);
    }
    return r;
}

static int suite_open(struct suite *suite, struct error *err)
{
    cleanup_close int fd = -1;

    suite->stop = hold_signals(&suite->before);
    if (suite->stop < 0)
        return error_errno(err, "signalfd");
    fd = mkostemp(suite->path, O_CLOEXEC);
    if (fd < 0) {
        suite->path[0] = '\0';
        return error_errno(err, "make a file in /tmp");
    }
    return bait_new(&suite->bait, err);
}

/* A signal that was held back ends us here. */
static void suite_close(struct suite *suite)
{
    bait_free(suite->bait);
    if (suite->path[0])
        (void)unlink(suite->path);
    close_fd(&suite->stop);
    (void)sigprocmask(SIG_SETMASK, &suite->before, NULL);
}

/* A directory that cannot be opened is not granted to any run. */
static int add_grants(const struct config *config, struct bait *bait, struct error *err)
{
    for (size_t i = 0; i < config->allow.count; i++) {
        cleanup_free char *path = NULL;
        enum run_grant_mode mode;

        if (config_parse_grant(config->allow.items[i], &path, &mode, NULL) < 0 ||
            mode != RUN_GRANT_RO || access(path, R_OK | X_OK) < 0)
            continue;
        if (bait_add_grant(bait, path, err) < 0)
            return -1;
    }
    return 0;
}

static void print_grants(const struct bait *bait)
{
    cleanup(buf_done) struct buf line = BUF_OF(MIB);

    for (size_t i = 0; i < bait->n_grants; i++) {
        (void)buf_add_str(&line, i ? ", " : "", NULL);
        (void)terminal_line(bait->grants[i], strlen(bait->grants[i]), &line, NULL);
    }
    (void)printf("\nread-only grants attacked: %s\n", buf_str(&line));
}

int prove_run_suite(const struct config *config, struct prove_totals *ret_totals, struct error *err)
{
    struct prove_totals totals = {0};
    struct suite suite = {.path = "/tmp/belljar-prove-XXXXXX",
                          .is_on_host = config_is_process_level(config),
                          .stop = -1};
    glob_t files = {0};
    int r;

    if (find_corpus(&files, err) < 0)
        return -1;
    r = suite_open(&suite, err);
    if (r == 0)
        r = add_grants(config, suite.bait, err);
    if (r == 0)
        r = prove_all(&files, &suite, &totals, err);
    if (r == 0) {
        print_grants(suite.bait);
        totals.grants = suite.bait->n_grants;
    }
    suite_close(&suite);
    globfree(&files);
    if (r < 0)
        return error_wrap(err, "prove");
    (void)printf("%zu programs: %zu contained, %zu breaches, %zu unexpected",
                 totals.passed + totals.breaches + totals.unexpected + totals.gaps, totals.passed,
                 totals.breaches, totals.unexpected);
    if (totals.gaps)
        (void)printf(", %zu known gaps", totals.gaps);
    (void)printf("\n");
    *ret_totals = totals;
    return 0;
}
