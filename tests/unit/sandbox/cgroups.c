#include "sandbox/cgroups.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>

#include "base/cleanup.h"
#include "child.h"

/* A person who runs this must see which step hangs, if one does. */
#define TEST_TIMEOUT_S 120

const struct cgroup_limits roomy = {.memory_bytes = 256 * MB, .processes = 32};

void prepare_cgroup_tests(void)
{
    (void)alarm(TEST_TIMEOUT_S);
    /* Not every host's init is quick to reap, and a process counts until it is. */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

/* --- the host --- */

struct cgroup_host *open_host(void)
{
    struct cgroup_host *host = NULL;
    struct error err = {0};

    if (cgroup_host_open(&host, &err) < 0)
        fail_msg("%s", err.message);
    if (cgroup_host_kind(host) == CGROUP_NONE) {
        if (strstr(cgroup_host_reason(host), "in use"))
            fail_msg("an earlier test left its host: %s", cgroup_host_reason(host));
        print_message("# skipped: no cgroups here: %s\n", cgroup_host_reason(host));
        cgroup_host_free(host);
        skip();
    }
    return host;
}

struct cgroup *new_group(struct cgroup_host *host, const char *name,
                         const struct cgroup_limits *limits)
{
    struct cgroup *group = NULL;
    struct error err = {0};

    if (cgroup_new(host, name, limits, &group, &err) < 0)
        fail_msg("%s", err.message);
    return group;
}

struct cgroup_usage usage_of(struct cgroup *group)
{
    struct cgroup_usage usage = {0};
    struct error err = {0};

    if (cgroup_read(group, CGROUP_EVERYTHING, &usage, &err) < 0)
        fail_msg("%s", err.message);
    return usage;
}

size_t count_places(const struct cgroup_host *host, const char *prefix)
{
    size_t count = 0;

    for (size_t i = 0; i < host->n_places; i++) {
        cleanup_closedir DIR *dir = opendir(host->places[i].parent);
        struct dirent *entry;

        assert_non_null(dir);
        while ((entry = readdir(dir)))
            count += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
    }
    return count;
}

size_t count_groups(const struct cgroup_host *host, const char *name)
{
    size_t count = 0;

    for (size_t i = 0; i < host->n_places; i++)
        count += faccessat(host->places[i].fd, name, F_OK, 0) == 0;
    return count;
}

/* --- processes inside --- */

static int enter(const struct cgroup *group)
{
    int fds[CGROUP_ATTACH_MAX];
    int count = cgroup_attach_fds(group, fds, NULL);

    child_need(count > 0);
    for (int i = 0; i < count; i++) {
        child_need(write(fds[i], "0", 1) == 1);
        close(fds[i]);
    }
    return count;
}

struct job {
    struct cgroup *group;
    int (*run)(void);
};

static int run_inside(const void *user)
{
    const struct job *job = user;

    enter(job->group);
    return job->run();
}

int inside(struct cgroup *group, int (*run)(void))
{
    struct job job = {group, run};

    return in_child(run_inside, &job);
}

pid_t settle(struct cgroup *group)
{
    int ready[2];
    char byte;
    pid_t pid;

    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        enter(group);
        child_need(write(ready[1], "r", 1) == 1);
        for (;;)
            (void)pause();
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

void reap(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* Counts down to 0 once everything is dead and reaped; orphans come to us, see
 * prepare_cgroup_tests(). */
bool is_empty(struct cgroup *group)
{
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    return usage_of(group).processes == 0;
}

void remove_group(struct cgroup *group)
{
    wait_until(is_empty(group));
    assert_int_equal(cgroup_remove(group), 0);
}
