/* Each Python that Belljar was built with, beside the host's own of the same version: an
 * interpreter that was linked in gets no security updates until Belljar is built again. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/doctor/doctor.h"
#include "engine/pythons.h"

/* The first line that a program prints; "" if it fails. */
static void read_line(const char *const *argv, char *line, size_t size)
{
    posix_spawn_file_actions_t actions;
    int fds[2], status = -1;
    size_t len = 0;
    ssize_t n = 0;
    pid_t pid;

    *line = '\0';
    if (pipe2(fds, O_CLOEXEC) < 0)
        return;
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    (void)posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
    (void)posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (posix_spawn(&pid, argv[0], &actions, NULL, (char *const *)argv, environ) != 0)
        pid = -1;
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(fds[1]);
    while (pid > 0 && len + 1 < size && (n = read(fds[0], line + len, size - len - 1)) > 0)
        len += (size_t)n;
    (void)close(fds[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    line[status == 0 ? len : 0] = '\0';
    line[strcspn(line, "\n")] = '\0';
}

/* "3.11.2 (main, Apr 28 2025, 14:11:48) [GCC 12.2.0]" -> seconds, or 0. Debian's security updates
 * change this date and not the version. */
static time_t built_at(const char *build)
{
    const char *comma = strchr(build, ',');
    struct tm tm = {0};

    if (!comma || !strptime(comma + 1, " %b %d %Y, %H:%M:%S", &tm))
        return 0;
    return timegm(&tm);
}

bool doctor_python_is_older(const char *build, const char *host_build)
{
    size_t len = strcspn(build, " "), host_len = strcspn(host_build, " ");
    char version[32], host_version[32];
    int order;

    if (!len || !host_len || len >= sizeof(version) || host_len >= sizeof(host_version))
        return false;
    (void)snprintf(version, sizeof(version), "%.*s", (int)len, build);
    (void)snprintf(host_version, sizeof(host_version), "%.*s", (int)host_len, host_build);
    order = strverscmp(version, host_version);
    return order < 0 || (order == 0 && built_at(build) && built_at(build) < built_at(host_build));
}

static void read_python(struct doctor_python *python)
{
    cleanup_free char *program = pythons_program(python->version, NULL);
    char host[64];

    (void)snprintf(host, sizeof(host), "/usr/bin/python%s", python->version);
    if (program)
        read_line((const char *const[]){program, "--python-build", NULL}, python->build,
                  sizeof(python->build));
    read_line((const char *const[]){host, "-I", "-S", "-c",
                                    "import sys; print(sys.version.replace('\\n', ' '))", NULL},
              python->host_build, sizeof(python->host_build));
    python->is_older = doctor_python_is_older(python->build, python->host_build);
}

void doctor_pythons_read(struct doctor_pythons *pythons)
{
    struct pythons found;

    pythons_find(&found);
    *pythons = (struct doctor_pythons){.count = found.count};
    for (size_t i = 0; i < found.count; i++) {
        memcpy(pythons->items[i].version, found.versions[i], PYTHON_VERSION_TEXT);
        read_python(&pythons->items[i]);
    }
}
