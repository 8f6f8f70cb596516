/* timer: how long a command takes from its start to its answer, and from there to its end.
 *
 *     timer [--runs N] [--clients N] [--seconds S] [--expect TEXT] -- COMMAND [ARGUMENT]…
 *
 * Starts the command with posix_spawn(3), reads its output to the end, reaps it, and starts it
 * again: N times, or for S seconds, in N places at once. An argument `{n}` becomes a number that
 * was not used before (containers want a name of their own). The answer has come with the first
 * byte that completes the expected text; the end is when the output is closed and the process
 * reaped. A run counts as failed when its output is not the expected text or its exit status is not
 * zero. One line of JSON comes out:
 *
 *     {"seconds": 3.001, "failed": 0, "answer_ms": […], "end_ms": […]}
 *
 * In C because the subject is milliseconds, and an interpreter would measure itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS_MAX 64
#define RUNS_MAX    100000
#define OUTPUT_MAX  256

extern char **environ;

struct client {
    pid_t pid; /* 0: none is running */
    int fd;
    uint64_t begin_ns, answer_ns;
    char output[OUTPUT_MAX];
    size_t len;
};

struct timer {
    char **command;
    size_t number_at; /* index of the argument that becomes a number; 0: none */
    char number[32];
    unsigned long next_number;
    const char *expect;
    size_t expect_len;
    size_t runs; /* still to start */
    uint64_t until_ns;
    struct client clients[CLIENTS_MAX];
    size_t n_clients;
    double *answer_ms, *end_ms;
    size_t n_done, n_failed;
};

static uint64_t now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void __attribute__((noreturn)) die(const char *what)
{
    (void)fprintf(stderr, "timer: %s: %s\n", what, strerror(errno));
    exit(1);
}

static bool is_over(const struct timer *t)
{
    return t->runs == 0 || (t->until_ns && now_ns() >= t->until_ns);
}

static void start(struct timer *t, struct client *c)
{
    posix_spawn_file_actions_t actions;
    int pair[2], r;

    if (pipe2(pair, O_CLOEXEC) < 0)
        die("pipe2");
    *c = (struct client){.fd = pair[0]};
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    (void)posix_spawn_file_actions_adddup2(&actions, pair[1], STDOUT_FILENO);
    if (t->number_at)
        (void)snprintf(t->number, sizeof(t->number), "timer-%d-%lu", (int)getpid(),
                       t->next_number++);
    c->begin_ns = now_ns();
    r = posix_spawnp(&c->pid, t->command[0], &actions, NULL, t->command, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(pair[1]);
    if (r != 0) {
        errno = r;
        die(t->command[0]);
    }
    t->runs--;
}

static void finish(struct timer *t, struct client *c)
{
    bool is_right = c->len == t->expect_len && memcmp(c->output, t->expect, c->len) == 0;
    int status = 0;
    uint64_t end;

    while (waitpid(c->pid, &status, 0) < 0)
        if (errno != EINTR)
            die("waitpid");
    end = now_ns();
    (void)close(c->fd);
    c->pid = 0;
    if (!is_right || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        t->n_failed++;
        return;
    }
    if (t->n_done < RUNS_MAX) {
        t->answer_ms[t->n_done] = (double)(c->answer_ns - c->begin_ns) / 1e6;
        t->end_ms[t->n_done] = (double)(end - c->begin_ns) / 1e6;
        t->n_done++;
    }
}

/* Returns false at the end of the output. */
static bool take(const struct timer *t, struct client *c)
{
    char rest[4096];
    bool has_room = c->len < sizeof(c->output);
    ssize_t n = has_room ? read(c->fd, c->output + c->len, sizeof(c->output) - c->len)
                         : read(c->fd, rest, sizeof(rest));

    if (n < 0 && errno == EINTR)
        return true;
    if (n > 0 && has_room) {
        c->len += (size_t)n;
        if (!c->answer_ns && c->len >= t->expect_len)
            c->answer_ns = now_ns();
    }
    return n > 0;
}

static void step(struct timer *t)
{
    struct pollfd fds[CLIENTS_MAX];

    for (size_t i = 0; i < t->n_clients; i++)
        fds[i] = (struct pollfd){.fd = t->clients[i].pid ? t->clients[i].fd : -1, .events = POLLIN};
    if (poll(fds, t->n_clients, -1) < 0 && errno != EINTR)
        die("poll");
    for (size_t i = 0; i < t->n_clients; i++) {
        struct client *c = &t->clients[i];

        if (!c->pid || !fds[i].revents || take(t, c))
            continue;
        finish(t, c);
        if (!is_over(t))
            start(t, c);
    }
}

static bool has_work(const struct timer *t)
{
    for (size_t i = 0; i < t->n_clients; i++)
        if (t->clients[i].pid)
            return true;
    return false;
}

static void print_list(const char *name, const double *values, size_t count)
{
    (void)printf(", \"%s\": [", name);
    for (size_t i = 0; i < count; i++)
        (void)printf("%s%.4f", i ? ", " : "", values[i]);
    (void)printf("]");
}

static size_t number(const char *text, size_t most)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);

    if (*end || value == 0 || value > most) {
        (void)fprintf(stderr, "timer: `%s` is not a number from 1 to %zu\n", text, most);
        exit(64);
    }
    return value;
}

static void parse(struct timer *t, double *ret_seconds, int argc, char **argv)
{
    static const struct option options[] = {
        {"runs", required_argument, NULL, 'r'},
        {"clients", required_argument, NULL, 'c'},
        {"seconds", required_argument, NULL, 's'},
        {"expect", required_argument, NULL, 'e'},
        {0},
    };
    int answer;

    while ((answer = getopt_long(argc, argv, "+", options, NULL)) >= 0) {
        switch (answer) {
        case 'r':
            t->runs = number(optarg, RUNS_MAX);
            break;
        case 'c':
            t->n_clients = number(optarg, CLIENTS_MAX);
            break;
        case 's':
            *ret_seconds = strtod(optarg, NULL);
            break;
        case 'e':
            t->expect = optarg;
            break;
        default:
            exit(64);
        }
    }
    t->command = argv + optind;
    for (size_t i = 1; t->command[0] && t->command[i]; i++)
        if (strcmp(t->command[i], "{n}") == 0) {
            t->number_at = i;
            t->command[i] = t->number;
        }
    t->expect_len = strlen(t->expect);
    if (optind == argc || t->expect_len == 0 || t->expect_len > OUTPUT_MAX) {
        (void)fprintf(stderr, "timer: a command is needed, and an expected text of 1 to %d bytes\n",
                      OUTPUT_MAX);
        exit(64);
    }
}

int main(int argc, char **argv)
{
    struct timer t = {.runs = RUNS_MAX, .n_clients = 1, .expect = "1\n"};
    double seconds = 0;
    uint64_t begin;

    parse(&t, &seconds, argc, argv);
    t.answer_ms = calloc(RUNS_MAX, sizeof(*t.answer_ms));
    t.end_ms = calloc(RUNS_MAX, sizeof(*t.end_ms));
    if (!t.answer_ms || !t.end_ms)
        die("calloc");

    begin = now_ns();
    if (seconds > 0)
        t.until_ns = begin + (uint64_t)(seconds * 1e9);
    for (size_t i = 0; i < t.n_clients && !is_over(&t); i++)
        start(&t, &t.clients[i]);
    while (has_work(&t))
        step(&t);

    (void)printf("{\"seconds\": %.6f, \"failed\": %zu", (double)(now_ns() - begin) / 1e9,
                 t.n_failed);
    print_list("answer_ms", t.answer_ms, t.n_done);
    print_list("end_ms", t.end_ms, t.n_done);
    (void)printf("}\n");
    free(t.answer_ms);
    free(t.end_ms);
    return 0;
}
