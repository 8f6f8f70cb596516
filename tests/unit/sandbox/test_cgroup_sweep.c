/* Clearing up after a supervisor, and what is left alone. */
#include "sandbox/cgroups.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "child.h"

/* --- the janitor --- */

static size_t count_fds(pid_t pid)
{
    char path[64];
    size_t count = 0;
    struct dirent *entry;

    (void)snprintf(path, sizeof(path), "/proc/%d/fd", pid);
    cleanup_closedir DIR *dir = opendir(path);
    while (dir && (entry = readdir(dir)))
        count += entry->d_name[0] != '.';
    return count;
}

TEST(the_janitor_holds_one_descriptor_and_ignores_signals)
{
    struct cgroup_host *host = open_host();
    char path[64], name[32];

    wait_until(count_fds(host->janitor) == 1);
    (void)snprintf(path, sizeof(path), "/proc/%d/comm", host->janitor);
    assert_true(file_read(AT_FDCWD, path, name, sizeof(name)) > 0);
    assert_string_equal(name, "belljar-janitor");
    assert_int_equal(getsid(host->janitor), host->janitor);
    assert_int_equal(kill(host->janitor, SIGINT), 0);
    assert_int_equal(kill(host->janitor, SIGTERM), 0);
    assert_int_equal(kill(host->janitor, SIGHUP), 0);
    assert_int_equal(waitpid(host->janitor, NULL, WNOHANG | __WALL), 0);
    /* It is no child that somebody else's wait could find. */
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    cgroup_host_free(host);
}

struct victim {
    int report; /* write end: the path of the host and the process inside */
};

struct victim_report {
    char path[512];
    char other[512];
    pid_t inside;
};

static int be_killed(const void *user)
{
    const struct victim *victim = user;
    struct cgroup_host *host = open_host();
    struct cgroup *group = new_group(host, "a", &roomy);
    struct victim_report report = {.inside = settle(group)};
    const struct cgroup_place *last = &host->places[host->n_places - 1];

    (void)new_group(host, "b", &roomy);
    (void)snprintf(report.path, sizeof(report.path), "%s", cgroup_host_path(host));
    (void)snprintf(report.other, sizeof(report.other), "%s/%s", last->parent, host->name);
    child_need(write(victim->report, &report, sizeof(report)) == sizeof(report));
    (void)kill(getpid(), SIGKILL);
    return 1;
}

TEST(the_janitor_cleans_up_after_a_killed_supervisor)
{
    struct victim_report report;
    struct victim victim;
    int pipe[2];

    cgroup_host_free(open_host()); /* skips here where there are no cgroups */
    assert_int_equal(pipe2(pipe, O_CLOEXEC), 0);
    victim.report = pipe[1];
    assert_int_equal(in_child(be_killed, &victim), -SIGKILL);
    assert_int_equal(read(pipe[0], &report, sizeof(report)), sizeof(report));
    close(pipe[0]);
    close(pipe[1]);
    wait_until(access(report.path, F_OK) < 0 && access(report.other, F_OK) < 0);
    wait_until(waitpid(report.inside, NULL, WNOHANG) == report.inside);
    wait_until(waitpid(-1, NULL, __WALL | WNOHANG) < 0); /* the janitor, an orphan too */
}

/* --- what others left --- */

TEST(directories_of_dead_supervisors_are_removed)
{
    struct cgroup_host *host = open_host();
    char dead[512], group[544], alive[512];

    /* Pid 1 lives, but did not start then; the other start time is ours with our parent's pid. */
    (void)snprintf(dead, sizeof(dead), "%s/belljar-1-99999999", host->places[0].parent);
    (void)snprintf(group, sizeof(group), "%s/left", dead);
    (void)snprintf(alive, sizeof(alive), "%s/belljar-alive", host->places[0].parent);
    cgroup_host_free(host);
    assert_int_equal(mkdir(dead, 0755), 0);
    assert_int_equal(mkdir(group, 0755), 0);
    assert_int_equal(mkdir(alive, 0755), 0);
    host = open_host();
    wait_until(access(dead, F_OK) < 0); /* by the janitor, behind our back */
    assert_int_equal(access(alive, F_OK), 0);
    assert_int_equal(rmdir(alive), 0);
    cgroup_host_free(host);
}

static int look_from_another_process(const void *user)
{
    struct cgroup_host *host = open_host();
    int alive = access(user, F_OK) == 0;

    cgroup_host_free(host);
    return alive ? 0 : 1;
}

TEST(the_directory_of_a_living_supervisor_stays)
{
    struct cgroup_host *host = open_host();

    assert_int_equal(in_child(look_from_another_process, cgroup_host_path(host)), 0);
    cgroup_host_free(host);
}

/* A supervisor in another pid namespace: its pid means nothing here, its lock does. */
TEST(a_locked_directory_stays_whoever_holds_it)
{
    struct cgroup_host *host = open_host();
    char path[512];
    cleanup_close int fd = -1;

    (void)snprintf(path, sizeof(path), "%s/belljar-1-99999999", host->places[0].parent);
    cgroup_host_free(host);
    assert_int_equal(mkdir(path, 0755), 0);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(syscall(SYS_flock, fd, 2 /* LOCK_EX */), 0);
    assert_int_equal(in_child(look_from_another_process, path), 0);
    assert_int_equal(rmdir(path), 0);
}

int main(void)
{
    prepare_cgroup_tests();
    return unit_run(NULL, NULL);
}
