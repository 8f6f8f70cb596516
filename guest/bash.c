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

int bash_run(const struct wire_run *run, int control)
{
    static char name[] = "bash", flag[] = "-c", path[] = "/dev/fd/10";
    char *text = strndup(run->code.data, run->code.len);
    char *short_argv[] = {name, flag, text, name, NULL};
    char *long_argv[] = {name, path, NULL};
    bool is_long = run->code.len > ARGUMENT_MAX;

    if (!text || strlen(text) != run->code.len || (is_long && script_file(run->code) < 0)) {
        (void)report_failed(control, "the program could not be handed to bash");
        return EXIT_FAILED;
    }
    if (report_started(control) < 0)
        return EXIT_FAILED;
    (void)execve("/bin/bash", is_long ? long_argv : short_argv, environ);
    perror("bash");
    return 127;
}
