#include "guest/bash.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guest/report.h"

#define EXIT_FAILED 125

/* One argument may have 128 kB (MAX_ARG_STRLEN); a longer program is read from an unnamed file. */
#define ARGUMENT_MAX ((size_t)100 * 1024)

#define SCRIPT_FD 10

/* The descriptors of a cell's standard error, see WIRE_BASH_CELL, and of a second standard
 * output. */
#define BASH_STDERR_FD 61
#define BASH_STDOUT_FD 60

extern char **environ;

static int script_file(struct span code)
{
    int fd = memfd_create("program", 0);

    if (fd < 0)
        fd = open("/tmp", O_TMPFILE | O_RDWR,
                  0600); /* where no cgroup counts memory there are no memfds */
    if (fd < 0 || write(fd, code.data, code.len) != (ssize_t)code.len ||
        lseek(fd, 0, SEEK_SET) < 0 || dup2(fd, SCRIPT_FD) < 0)
        return -1;
    (void)close(fd);
    return 0;
}

static char *copy_of(struct span s)
{
    return strndup(s.data, s.len);
}

/* `bash -c TEXT NAME ARGUMENT...`, or with the file in place of the text. */
static int fill_argv(const struct wire_run *run, bool is_long, char **argv)
{
    static char bash[] = "bash", flag[] = "-c", path[] = "/dev/fd/10", check[] = "-n";
    size_t n = 0;

    argv[n++] = bash;
    if (run->flags & WIRE_RUN_CHECK_ONLY)
        argv[n++] = check;
    if (is_long) {
        argv[n++] = path;
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

int bash_run(const struct wire_run *run, int control)
{
    static char *argv[WIRE_STRINGS_MAX + 6];
    bool is_long = run->code.len > ARGUMENT_MAX;

    if (memchr(run->code.data, '\0', run->code.len) || fill_argv(run, is_long, argv) < 0 ||
        (is_long && script_file(run->code) < 0)) {
        (void)report_failed(control, "the program could not be handed to bash");
        return EXIT_FAILED;
    }
    if (report_started(control) < 0)
        return EXIT_FAILED;
    (void)execve("/bin/bash", argv, environ);
    perror("bash");
    return 127;
}

extern const char bash_start[]; /* made of guest/bash_start.sh at build time */

/* The first text that the shell of a session reads, with the numbers that it cannot know. */
static int start_up_file(void)
{
    char *text = NULL;
    int n = asprintf(&text, "__belljar_wire=(%d %d %d %d %d)\n%s", WIRE_VERSION, WIRE_STARTED,
                     WIRE_DONE, WIRE_SAVED, WIRE_BASH_STATE_MAX, bash_start);
    int r = n < 0 ? -1 : script_file((struct span){text, (size_t)n});

    free(text);
    return r;
}

int bash_session(int cells, int report)
{
    static char name[] = "bash", option[] = "--rcfile", path[] = "/dev/fd/10", interactive[] = "-i";
    static char *argv[] = {name, option, path, interactive, NULL};
    int null = open("/dev/null", O_RDWR);

    if (start_up_file() < 0 || null < 0 || dup2(cells, STDIN_FILENO) < 0 ||
        dup2(STDOUT_FILENO, BASH_STDOUT_FD) < 0 || dup2(STDERR_FILENO, BASH_STDERR_FD) < 0 ||
        dup2(null, STDERR_FILENO) < 0 || fcntl(report, F_SETFD, 0) < 0) {
        (void)report_failed(report, "bash could not be started");
        return EXIT_FAILED;
    }
    (void)close(cells);
    (void)close(null);
    (void)execve("/bin/bash", argv, environ);
    return 127;
}
