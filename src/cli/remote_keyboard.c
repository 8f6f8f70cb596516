#include "cli/remote_keyboard.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/cleanup.h"

#define KEYS_BYTES ((size_t)4096)

/* Between two tries, while the command does not read. */
#define PAUSE_NS 50000000L

json_t *remote_keyboard_size(void)
{
    struct winsize size = {0};

    (void)ioctl(STDIN_FILENO, TIOCGWINSZ, &size);
    return json_pack("{s:i, s:i}", "cols", size.ws_col ? size.ws_col : 80, "rows",
                     size.ws_row ? size.ws_row : 24);
}

static volatile sig_atomic_t is_resized;

static void on_resized(int number)
{
    (void)number;
    is_resized = 1;
}

/* Takes the body over. False: the command, or the server, is gone. */
static bool post(const struct client *client, const char *path, const char *what, json_t *body)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    cleanup_free char *whole = NULL;
    bool is_busy = true, goes_on = true;

    if (!body || asprintf(&whole, "%s/%s", path, what) < 0)
        goes_on = false;
    while (goes_on && is_busy) {
        cleanup_error struct error err = {0};
        json_t *answer = NULL;

        is_busy = client_call(client, "POST", whole, body, &answer, &err) < 0;
        goes_on = !is_busy || err.code == E_BUSY;
        json_decref(answer);
        if (is_busy && goes_on)
            (void)nanosleep(&pause, NULL);
    }
    json_decref(body);
    return goes_on;
}

static bool pass(const struct client *client, const char *path, int keyboard)
{
    cleanup(buf_done) struct buf coded = BUF_OF(2 * KEYS_BYTES);
    char keys[KEYS_BYTES];
    ssize_t n = read(keyboard, keys, sizeof(keys));

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (n <= 0 || base64_add(&coded, keys, (size_t)n, NULL) < 0)
        return false;
    return post(client, path, "stdin", json_pack("{s:s}", "base64", buf_str(&coded)));
}

static void __attribute__((noreturn))
serve(const struct client *client, const char *path, int keyboard, pid_t parent)
{
    const struct sigaction resized = {.sa_handler = on_resized};
    struct pollfd typed = {.fd = keyboard, .events = POLLIN};
    sigset_t blocked, before;
    bool goes_on = true;

    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
        _exit(1);
    (void)sigemptyset(&blocked);
    (void)sigaddset(&blocked, SIGWINCH);
    (void)sigprocmask(SIG_BLOCK, &blocked, &before);
    (void)sigaction(SIGWINCH, &resized, NULL);
    while (goes_on) {
        int n = ppoll(&typed, 1, NULL, &before);

        if (n < 0 && errno != EINTR)
            break;
        if (is_resized) {
            is_resized = 0;
            goes_on = post(client, path, "resize", remote_keyboard_size());
        }
        if (n > 0 && goes_on)
            goes_on = pass(client, path, keyboard);
    }
    _exit(0);
}

int remote_keyboard_begin(const struct client *client, const char *path, int keyboard,
                          pid_t *ret_pid, struct error *err)
{
    pid_t parent = getpid(), pid = fork();

    if (pid < 0)
        return error_errno(err, "fork");
    if (pid == 0)
        serve(client, path, keyboard, parent);
    *ret_pid = pid;
    return 0;
}

void remote_keyboard_end(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}
