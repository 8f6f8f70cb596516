/* The client's own word on whether it can start the server. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/loop.h"
#include "cli/setup/setup.h"

extern char **environ;

/* A client looks at all of its servers, one after the other in the worst case. */
#define PATIENCE_MS 90000

#define SAID_BYTES (256 * KIB)

static int start(const char *program, pid_t *ret_pid, struct error *err)
{
    char *argv[] = {(char *)program, (char *)"mcp", (char *)"list", NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    int pipe_fds[2], r;

    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        return error_errno(err, "pipe");
    (void)posix_spawn_file_actions_init(&files);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    (void)posix_spawn_file_actions_adddup2(&files, pipe_fds[1], 1);
    (void)posix_spawn_file_actions_adddup2(&files, pipe_fds[1], 2);
    /* A group of its own, so that what it starts ends with it. */
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    (void)posix_spawnattr_setpgroup(&attributes, 0);
    r = posix_spawnp(ret_pid, program, &files, &attributes, argv, environ);
    (void)posix_spawn_file_actions_destroy(&files);
    (void)posix_spawnattr_destroy(&attributes);
    (void)close(pipe_fds[1]);
    if (r == 0)
        return pipe_fds[0];
    (void)close(pipe_fds[0]);
    errno = r;
    return r == ENOENT || r == EACCES ? error_set(err, E_NOT_FOUND, "no program `%s`", program)
                                      : error_errno(err, "start `%s`", program);
}

/* Until it ends, is silent about its end, or says too much. */
static void listen_to(int fd, struct buf *said)
{
    uint64_t until = loop_now_ns() + (uint64_t)PATIENCE_MS * 1000000;
    char piece[4096];

    for (;;) {
        uint64_t now = loop_now_ns();
        struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
        ssize_t n;

        if (now >= until || poll(&poll_fd, 1, (int)((until - now) / 1000000) + 1) <= 0)
            return;
        n = read(fd, piece, sizeof(piece));
        if (n <= 0 || buf_add(said, piece, (size_t)n, NULL) < 0)
            return;
    }
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
}

/* The first line that has the entry's name as a word of its own. */
static int find_line(const struct buf *said, const char *name, struct buf *line)
{
    const char *text = buf_str(said), *at = text;
    size_t n = strlen(name);

    while ((at = strstr(at, name))) {
        if ((at == text || !is_word(at[-1])) && !is_word(at[n])) {
            const char *from = at;

            while (from > text && from[-1] != '\n')
                from--;
            return buf_add(line, from, strcspn(from, "\r\n"), NULL);
        }
        at += n;
    }
    return 0;
}

static enum setup_verdict judge(const struct buf *line)
{
    static const char *const good[] = {"✓", "✔", "Connected"};
    static const char *const bad[] = {"✗", "✘", "Failed", "failed", "Disconnected", "disabled"};

    if (!line->len)
        return SETUP_FAILS;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        if (strstr(buf_str(line), bad[i]))
            return SETUP_FAILS;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++)
        if (strstr(buf_str(line), good[i]))
            return SETUP_CONNECTS;
    return SETUP_IS_LISTED; /* a client that reads its file and starts nothing */
}

int setup_verify(const struct setup_client *client, const char *name,
                 enum setup_verdict *ret_verdict, struct buf *line, struct error *err)
{
    cleanup(buf_done) struct buf said = BUF_OF(SAID_BYTES);
    cleanup_close int fd = -1;
    struct error why = {0};
    pid_t pid = -1;

    if (!client->program) {
        *ret_verdict = SETUP_NOT_INSTALLED;
        return 0;
    }
    fd = start(client->program, &pid, &why);
    if (fd < 0 && why.code == E_NOT_FOUND) {
        error_done(&why);
        *ret_verdict = SETUP_NOT_INSTALLED;
        return 0;
    }
    if (fd < 0) {
        error_move(err, &why);
        return -1;
    }
    listen_to(fd, &said);
    (void)kill(-pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    if (find_line(&said, name, line) < 0)
        return error_memory(err);
    *ret_verdict = judge(line);
    return 0;
}
