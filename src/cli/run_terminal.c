#include "cli/run_terminal.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"

/* --- the settings of our terminal --- */

/* For handlers of signals, too. */
static struct {
    struct termios before, raw;
    volatile sig_atomic_t is_raw;
    bool is_watched;
} settings;

static void restore(void)
{
    if (!settings.is_raw)
        return;
    settings.is_raw = 0;
    (void)tcsetattr(STDIN_FILENO, TCSANOW, &settings.before);
}

/* Only in the foreground: in the background the terminal is the shell's, and setting it would stop
 * us. */
static void make_raw(void)
{
    if (tcgetpgrp(STDIN_FILENO) == getpgrp() &&
        tcsetattr(STDIN_FILENO, TCSANOW, &settings.raw) == 0)
        settings.is_raw = 1;
}

/* The action is the default one again (SA_RESETHAND): the signal does what it does. */
static void on_fatal(int number)
{
    restore();
    (void)raise(number);
}

/* Signals that end us without a word from the loop. SIGINT, SIGTERM and SIGHUP stop the run. */
static void watch_signals(void)
{
    static const int fatal[] = {SIGQUIT,   SIGABRT, SIGSEGV, SIGBUS,    SIGFPE,  SIGILL,
                                SIGALRM,   SIGUSR1, SIGUSR2, SIGVTALRM, SIGPROF, SIGPOLL,
                                SIGSTKFLT, SIGXCPU, SIGXFSZ, SIGSYS,    SIGTRAP};
    const struct sigaction action = {.sa_handler = on_fatal, .sa_flags = SA_RESETHAND};

    if (settings.is_watched)
        return;
    settings.is_watched = true;
    (void)atexit(restore);
    for (size_t i = 0; i < ARRAY_SIZE(fatal); i++)
        (void)sigaction(fatal[i], &action, NULL);
}

int run_terminal_open(struct run_terminal *terminal, struct error *err)
{
    if (isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1) {
        error_set(err, E_INVALID, "-t needs a terminal, and standard %s is not one",
                  isatty(STDIN_FILENO) == 1 ? "output" : "input");
        return error_hint(err, "leave out -t: input and output are then passed on as they are");
    }
    if (tcgetattr(STDIN_FILENO, &settings.before) < 0)
        return error_errno(err, "tcgetattr");
    settings.raw = settings.before;
    cfmakeraw(&settings.raw);
    /* O_NONBLOCK on the descriptor itself would be the shell's, too. */
    terminal->keyboard = open("/proc/self/fd/0", O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (terminal->keyboard < 0)
        return error_errno(err, "open the terminal");
    return 0;
}

/* --- variables --- */

/* Whether the sandbox, which sees /usr and /lib, has a description of that terminal. */
static bool is_known(const char *name)
{
    static const char *const places[] = {"/usr/share/terminfo", "/usr/lib/terminfo",
                                         "/lib/terminfo"};
    char path[128];

    if (!*name || strlen(name) > 64)
        return false;
    for (const char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && (c == name || !strchr("+-._", *c)))
            return false;
    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        (void)snprintf(path, sizeof(path), "%s/%c/%s", places[i], *name, name);
        if (access(path, R_OK) == 0)
            return true;
    }
    return false;
}

static int add_variable(struct run_request *asked, const char *name, const char *value,
                        struct error *err)
{
    struct span span = {name, strlen(name)};

    for (size_t i = 0; i < asked->n_env; i++)
        if (asked->env[i].name.len == span.len &&
            memcmp(asked->env[i].name.data, name, span.len) == 0)
            return 0;
    return run_request_add_variable(asked, span, value, err);
}

int run_terminal_describe(struct run_request *asked, struct error *err)
{
    const char *term = getenv("TERM"), *color = getenv("COLORTERM"), *none = getenv("NO_COLOR");

    if (add_variable(asked, "TERM", term && is_known(term) ? term : "xterm-256color", err) < 0)
        return -1;
    if (color && (strcmp(color, "truecolor") == 0 || strcmp(color, "24bit") == 0) &&
        add_variable(asked, "COLORTERM", color, err) < 0)
        return -1;
    return none && *none ? add_variable(asked, "NO_COLOR", "1", err) : 0;
}

int run_terminal_describe_size(struct run_request *asked, struct error *err)
{
    static char columns[16], lines[16]; /* the request borrows them */
    struct winsize size;

    if (asked->n_env + 2 > LIMIT_ENV_COUNT || isatty(STDOUT_FILENO) != 1 ||
        ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_col || !size.ws_row)
        return 0;
    (void)snprintf(columns, sizeof(columns), "%u", size.ws_col);
    (void)snprintf(lines, sizeof(lines), "%u", size.ws_row);
    return add_variable(asked, "COLUMNS", columns, err) < 0
               ? -1
               : add_variable(asked, "LINES", lines, err);
}

/* --- keys --- */

static void on_typed(void *arg);
static void on_room(void *arg);

static void stop_watching(struct loop_watch **watch)
{
    loop_watch_free(*watch);
    *watch = NULL;
}

/* Passes on what was typed; where the program takes no more now, nothing more is read. */
static void pass(struct run_terminal *t)
{
    while (t->taken < t->len) {
        ssize_t n = write(t->master, t->data + t->taken, t->len - t->taken);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN) /* nobody has it any more */
            n = (ssize_t)(t->len - t->taken);
        if (n < 0)
            break;
        t->taken += (size_t)n;
    }
    if (t->taken < t->len) {
        stop_watching(&t->typed);
        if (!t->room)
            t->room = loop_watch_fd(t->loop, t->master, LOOP_WRITE, on_room, t);
        return;
    }
    stop_watching(&t->room);
    if (!t->typed)
        t->typed = loop_watch_fd(t->loop, t->keyboard, LOOP_READ, on_typed, t);
}

static void on_room(void *arg)
{
    pass(arg);
}

static void on_typed(void *arg)
{
    struct run_terminal *t = arg;
    ssize_t n = read(t->keyboard, t->data, sizeof(t->data));

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) { /* it is gone, of which SIGHUP tells, too */
        stop_watching(&t->typed);
        return;
    }
    t->len = (size_t)n;
    t->taken = 0;
    pass(t);
}

/* --- the window, and signals --- */

static void on_resized(void *arg)
{
    const struct run_terminal *t = arg;
    struct winsize size;

    if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0)
        (void)ioctl(t->master, TIOCSWINSZ, &size);
}

/* We are continued: the shell has set the terminal to its own liking, and shown other things. A
 * change of the size makes programs draw everything anew. */
static void on_continued(void *arg)
{
    const struct run_terminal *t = arg;
    struct winsize size;

    make_raw();
    if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col < 2)
        return;
    size.ws_col--;
    (void)ioctl(t->master, TIOCSWINSZ, &size);
    on_resized(arg);
}

/* Somebody else stops us; the key is the program's. */
static void on_stopped(void *arg)
{
    restore();
    (void)raise(SIGSTOP);
    on_continued(arg);
}

void run_terminal_begin(struct run_terminal *t, struct loop *loop, int master)
{
    close_fd(&t->master);
    t->master = master;
    t->loop = loop;
    /* The program finds the keys of our terminal, and its size. */
    (void)tcsetattr(master, TCSANOW, &settings.before);
    on_resized(t);
    watch_signals();
    make_raw();
    if (!t->resized) {
        t->resized = loop_watch_signal(loop, SIGWINCH, on_resized, t);
        t->stopped = loop_watch_signal(loop, SIGTSTP, on_stopped, t);
        t->continued = loop_watch_signal(loop, SIGCONT, on_continued, t);
    }
    stop_watching(&t->room);
    pass(t);
}

void run_terminal_take(struct run_terminal *t)
{
    (void)t;
    watch_signals();
    make_raw();
}

void run_terminal_end(struct run_terminal *t, struct output_sink *sink)
{
    struct loop_watch **const watches[] = {&t->typed, &t->room, &t->resized, &t->stopped,
                                           &t->continued};

    for (size_t i = 0; i < ARRAY_SIZE(watches); i++)
        stop_watching(watches[i]);
    close_fd(&t->master);
    if (t->keyboard < 0)
        return;
    (void)output_sink_finish(sink);
    if (settings.is_raw && sink->had_reports) /* they would be the shell's next command */
        (void)tcflush(STDIN_FILENO, TCIFLUSH);
    restore();
    close_fd(&t->keyboard);
}
