#include "guest/command.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest/report.h"

#define EXIT_FAILED         125
#define EXIT_NOT_EXECUTABLE 126
#define EXIT_NOT_FOUND      127

/* The words lie in the message, each with its NUL. NULL: they do not, or there is no memory. */
static char **split(struct span code)
{
    size_t count = 0, n = 0;
    char **words;

    if (!code.len || code.data[code.len - 1] != '\0')
        return NULL;
    for (size_t i = 0; i < code.len; i++)
        count += code.data[i] == '\0';
    words = calloc(count + 1, sizeof(*words));
    for (const char *at = code.data; words && n < count; at += strlen(at) + 1)
        words[n++] = (char *)at;
    return words;
}

static int explain(const char *name, int error)
{
    if (error == ENOENT && strchr(name, '/') && access(name, F_OK) == 0)
        (void)fprintf(stderr, "belljar: `%s`: its interpreter or loader is not in the sandbox\n",
                      name);
    else if (error == ENOENT)
        (void)fprintf(stderr, "belljar: `%s`: %s\n", name,
                      strchr(name, '/') ? "no such file in the sandbox" : "command not found");
    else
        (void)fprintf(stderr, "belljar: `%s`: cannot be executed: %s\n", name, strerror(error));
    return error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

static int enter(struct span directory)
{
    char path[PATH_MAX];

    if (!directory.len)
        return 0;
    if (directory.len >= sizeof(path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(path, directory.data, directory.len);
    path[directory.len] = '\0';
    return chdir(path);
}

int command_run(const struct wire_run *run, int control)
{
    char **words = split(run->code);

    if (!words) {
        (void)report_failed(control, "the command could not be read");
        return EXIT_FAILED;
    }
    if (enter(run->directory) < 0) {
        (void)report_no_directory(control, errno);
        return EXIT_FAILED;
    }
    /* Signals for a command reach what it started. On a terminal it leads a session already. */
    (void)setpgid(0, 0);
    (void)signal(SIGINT, SIG_DFL); /* Python's handler would swallow one that comes now */
    if (report_started(control) < 0)
        return EXIT_FAILED;
    (void)signal(SIGPIPE, SIG_DFL); /* Python ignores it, and the command would, too */
    (void)execvp(words[0], words);
    return explain(words[0], errno);
}
