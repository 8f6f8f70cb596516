#include "guest/bash.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/span.h"
#include "guest/report.h"
#include "sandbox/places.h"

#define EXIT_FAILED 125

/* One argument may have 128 kB (MAX_ARG_STRLEN); a longer program is read from an unnamed file. */
#define ARGUMENT_MAX ((size_t)100 * 1024)

#define SCRIPT_FD 10

/* The descriptors of a cell's standard error, see WIRE_BASH_CELL, and of a second standard
 * output. */
#define BASH_STDERR_FD 61
#define BASH_STDOUT_FD 60

extern char **environ;

static int filled_file(struct span code)
{
    int fd = memfd_create("program", 0);

    if (fd < 0)
        fd = open(places_tmp(), O_TMPFILE | O_RDWR,
                  0600); /* where no cgroup counts memory there are no memfds */
    if (fd >= 0 && write(fd, code.data, code.len) == (ssize_t)code.len &&
        lseek(fd, 0, SEEK_SET) == 0)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

/* A pipe holds what fits into it. */
static int filled_pipe(struct span code)
{
    int ends[2];
    ssize_t n;

    if (pipe(ends) < 0)
        return -1;
    (void)fcntl(ends[1], F_SETFL, O_NONBLOCK);
    n = write(ends[1], code.data, code.len);
    (void)close(ends[1]);
    if (n == (ssize_t)code.len)
        return ends[0];
    (void)close(ends[0]);
    return -1;
}

static int script_file(struct span code)
{
    int fd = filled_file(code), r;

    if (fd < 0)
        fd = filled_pipe(code); /* the disk is full: a shell can make room */
    r = fd < 0 ? -1 : dup2(fd, SCRIPT_FD);
    if (fd >= 0 && fd != SCRIPT_FD)
        (void)close(fd);
    return r < 0 ? -1 : 0;
}

static char *copy_of(struct span s)
{
    return strndup(s.data, s.len);
}

/* With `-c` there is no BASH_SOURCE, and a variable that is not set ends the shell with another
 * status. Scripts that compare BASH_SOURCE with $0 would do nothing at all. */
static bool needs_file(struct span code)
{
    static const char *const words[] = {"BASH_SOURCE", "set -", "nounset", "caller",
                                        ":?",          "jobs",  NULL};

    for (size_t i = 0; words[i]; i++)
        if (span_contains(code, words[i]))
            return true;
    return false;
}

/* Writes the program to a file of its name in the sandbox's /tmp, not to the directory where it
 * starts: there it would be among the program's own files. Returns false if that fails. */
static bool named_file(const struct wire_run *run, char *path, size_t size)
{
    struct span name = run->args.count ? run->args.items[0] : span_of("program.sh");
    const char *slash = memrchr(name.data, '/', name.len);
    bool is_written;
    int fd, n;

    if (slash)
        name = (struct span){slash + 1, name.len - (size_t)(slash + 1 - name.data)};
    if (!name.len || name.data[0] == '-')
        name = span_of("program.sh");
    n = snprintf(path, size, "%s/%.*s", places_tmp(), (int)name.len, name.data);
    if (n < 0 || (size_t)n >= size)
        return false;
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    is_written = write(fd, run->code.data, run->code.len) == (ssize_t)run->code.len;
    if (!is_written)
        (void)unlink(path);
    (void)close(fd);
    return is_written;
}

/* The sandbox has the program's file, and what is in it is what was sent. */
static bool has_file(const struct wire_run *run, char *path, size_t size)
{
    char text[4096];
    size_t done = 0;
    ssize_t n;
    int fd;

    if (!run->script.len || run->script.len >= size)
        return false;
    (void)snprintf(path, size, "%.*s", (int)run->script.len, run->script.data);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    while ((n = read(fd, text, sizeof(text))) > 0 && (size_t)n <= run->code.len - done &&
           memcmp(text, run->code.data + done, (size_t)n) == 0)
        done += (size_t)n;
    (void)close(fd);
    return n == 0 && done == run->code.len;
}

/* `bash -c TEXT NAME ARGUMENT...`, or with the file in place of the text. */
static int fill_argv(const struct wire_run *run, char *file, char **argv)
{
    static char bash[] = "bash", flag[] = "-c", check[] = "-n";
    size_t n = 0;

    argv[n++] = bash;
    if (run->flags & WIRE_RUN_CHECK_ONLY)
        argv[n++] = check;
    if (file) {
        argv[n++] = file;
    } else {
        argv[n++] = flag;
        argv[n++] = copy_of(run->code);
        argv[n++] = run->script.len   ? copy_of(run->script)
                    : run->args.count ? copy_of(run->args.items[0])
                                      : bash;
    }
    for (uint32_t i = 1; i < run->args.count; i++)
        argv[n++] = copy_of(run->args.items[i]);
    argv[n] = NULL;
    for (size_t i = 0; i < n; i++)
        if (!argv[i])
            return -1;
    return 0;
}

/* Python ignores SIGPIPE, and a shell cannot take back what it was started with: without this, the
 * first command of `grep x big | head` would complain of a broken pipe instead of ending. */
static void end_by_pipes(void)
{
    (void)signal(SIGPIPE, SIG_DFL);
}

int bash_run(const struct wire_run *run, int control)
{
    static char *argv[WIRE_STRINGS_MAX + 6];
    static char path[256], unnamed[] = "/dev/fd/10";
    bool is_long = run->code.len > ARGUMENT_MAX;
    char *file = is_long ? unnamed : NULL;

    if (!(run->flags & WIRE_RUN_CHECK_ONLY) && (is_long || needs_file(run->code)) &&
        (run->script.len ? has_file(run, path, sizeof(path))
                         : named_file(run, path, sizeof(path)))) {
        file = path;
        is_long = false;
    }
    if (memchr(run->code.data, '\0', run->code.len) || fill_argv(run, file, argv) < 0 ||
        (is_long && script_file(run->code) < 0)) {
        (void)report_failed(control, "the program could not be handed to bash");
        return EXIT_FAILED;
    }
    if (report_started(control) < 0)
        return EXIT_FAILED;
    end_by_pipes();
    (void)execve("/bin/bash", argv, environ);
    perror("bash");
    return 127;
}

extern const char bash_start[]; /* made of guest/bash_start.sh at build time */

/* The first text that the shell of a session reads, with the numbers that it cannot know. */
static int start_up_file(void)
{
    char *text = NULL;
    int n = asprintf(&text, "__belljar_wire=(%d %d %d %d %d %d)\n%s", WIRE_VERSION, WIRE_STARTED,
                     WIRE_DONE, WIRE_SAVED, WIRE_BASH_STATE_MAX, WIRE_CALL, bash_start);
    int r = n < 0 ? -1 : script_file((struct span){text, (size_t)n});

    free(text);
    return r;
}

int bash_session(int cells, int report, int replies)
{
    static char name[] = "bash", option[] = "--rcfile", path[] = "/dev/fd/10", interactive[] = "-i";
    static char *argv[] = {name, option, path, interactive, NULL};
    int null = open("/dev/null", O_RDWR);

    if (start_up_file() < 0 || null < 0 || dup2(cells, STDIN_FILENO) < 0 ||
        dup2(STDOUT_FILENO, BASH_STDOUT_FD) < 0 || dup2(STDERR_FILENO, BASH_STDERR_FD) < 0 ||
        dup2(null, STDERR_FILENO) < 0 || fcntl(report, F_SETFD, 0) < 0 ||
        fcntl(replies, F_SETFD, 0) < 0) {
        (void)report_failed(report, "bash could not be started");
        return EXIT_FAILED;
    }
    (void)close(cells);
    (void)close(null);
    end_by_pipes();
    (void)execve("/bin/bash", argv, environ);
    return 127;
}
