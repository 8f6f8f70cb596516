#include "vm/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/child.h"
#include "base/cleanup.h"
#include "base/paths.h"
#include "wire/machine.h"

/* Its output, and its exit status. */
static int read_check(char **words, struct buf *out, struct error *err)
{
    cleanup_close int from = -1, to = -1;
    int pipes[2], status;
    pid_t pid;

    if (pipe2(pipes, O_CLOEXEC) < 0)
        return error_errno(err, "pipe");
    from = pipes[0];
    to = pipes[1];
    pid = fork();
    if (pid == 0) {
        child_reset_signals();
        if (dup2(to, 1) < 0)
            _exit(1);
        (void)execv(words[0], words);
        _exit(127);
    }
    if (pid < 0)
        return error_errno(err, "fork");
    close_fd(&to);
    (void)buf_read_fd(out, from, NULL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* Up to a tab or the end of the line; returns where the next one begins. */
static const char *take_field(const char *text, char *field, size_t size)
{
    size_t len = strcspn(text, "\t\n");

    (void)snprintf(field, size, "%.*s", (int)len, text);
    return text[len] == '\t' ? text + len + 1 : text + len;
}

int machine_parts(bool is_emulated, struct machine_part parts[MACHINE_PARTS_MAX], size_t *ret_count,
                  struct error *err)
{
    cleanup(buf_done) struct buf out = BUF_OF(8192);
    cleanup_free char *program = paths_program("belljar-machine", err);
    char *words[] = {program, "--check", is_emulated ? "--emulate" : NULL, NULL};
    size_t count = 0;
    char state[16];

    if (!program)
        return -1;
    if (access(program, X_OK) < 0) {
        error_set(err, E_UNSUPPORTED, "belljar-machine is not installed");
        return error_hint(err, "install Belljar again");
    }
    if (read_check(words, &out, err) < 0)
        return -1;
    for (const char *line = buf_str(&out); *line && count < MACHINE_PARTS_MAX; count++) {
        struct machine_part *part = &parts[count];

        line = take_field(line, part->name, sizeof(part->name));
        line = take_field(line, state, sizeof(state));
        line = take_field(line, part->text, sizeof(part->text));
        line = take_field(line, part->hint, sizeof(part->hint));
        line += *line == '\n';
        part->is_there = strcmp(state, MACHINE_THERE) == 0;
    }
    *ret_count = count;
    return count ? 0 : error_set(err, E_SYSTEM, "belljar-machine does not say what it needs");
}

int machine_check(bool is_emulated, struct error *err)
{
    struct machine_part parts[MACHINE_PARTS_MAX];
    size_t count;

    if (machine_parts(is_emulated, parts, &count, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (!parts[i].is_there) {
            error_set(err, E_UNSUPPORTED, "%s", parts[i].text);
            return *parts[i].hint ? error_hint(err, "%s", parts[i].hint) : -1;
        }
    return 0;
}
