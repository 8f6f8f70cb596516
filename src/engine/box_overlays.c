/* Packs the overlays of a sandbox's copy-on-write grants, for a copy of it.
 *
 * A child does it while the program is held, as the sandbox's user, in the cgroup that pays for the
 * image. It walks what a program has laid out, and dies alone if that goes wrong. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "engine/box_internal.h"

struct overlays_packer {
    pid_t pid;
    int fd;
    struct loop_watch *watch;
    char said[WIRE_IMAGE_TEXT];
    size_t len;
    void (*on_done)(void *user, bool is_packed, const char *why);
    void *user;
};

/* Its answer: this, or what went wrong. */
static const char packed[] = "\1";

static void __attribute__((noreturn))
pack(const struct overlays *overlays, int file, const int *groups, size_t n_groups, int out)
{
    char why[WIRE_IMAGE_TEXT] = "";

    for (size_t i = 0; i < n_groups; i++)
        if (write(groups[i], "0", 1) != 1)
            _exit(1);
    if (overlays_pack(overlays, file, why, sizeof(why)) == 0)
        (void)snprintf(why, sizeof(why), "%s", packed);
    (void)file_write_all(out, why, strlen(why));
    _exit(0);
}

void overlays_packer_free(struct overlays_packer *p)
{
    if (!p)
        return;
    loop_watch_free(p->watch);
    close_fd(&p->fd);
    if (p->pid > 0) {
        (void)kill(p->pid, SIGKILL);
        while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    free(p);
}

static void on_said(void *arg)
{
    struct overlays_packer *p = arg;
    size_t room = sizeof(p->said) - 1 - p->len;
    ssize_t n = room ? read(p->fd, p->said + p->len, room) : 0;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0) {
        p->len += (size_t)n;
        return;
    }
    loop_watch_free(take_ptr(p->watch));
    p->on_done(p->user, strcmp(p->said, packed) == 0, p->said);
}

static int start(struct overlays_packer *p, struct loop *loop, const struct overlays *overlays,
                 int file, const int *groups, size_t n_groups, struct error *err)
{
    pid_t server = getpid();
    sigset_t all, before;
    int pair[2];

    if (pipe2(pair, O_CLOEXEC | O_NONBLOCK) < 0)
        return error_errno(err, "pipe2");
    p->fd = pair[0];
    p->watch = loop_watch_fd(loop, p->fd, LOOP_READ, on_said, p);
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &before);
    p->pid = p->watch ? fork() : -1;
    if (p->pid == 0) {
        child_reset_signals();
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != server)
            _exit(1);
        pack(overlays, file, groups, n_groups, pair[1]);
    }
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    (void)close(pair[1]);
    return p->pid < 0 ? error_set(err, E_SYSTEM, "no process can be started to pack the overlays")
                      : 0;
}

int overlays_packer_new(struct loop *loop, const struct overlays *overlays, int file,
                        const struct cgroup *group,
                        void (*on_done)(void *user, bool is_packed, const char *why), void *user,
                        struct overlays_packer **ret_packer, struct error *err)
{
    int groups[CGROUP_ATTACH_MAX] = {0}, n = group ? cgroup_attach_fds(group, groups, err) : 0, r;
    struct overlays_packer *p = calloc(1, sizeof(*p));

    if (n < 0 || !p) {
        free(p);
        return n < 0 ? -1 : error_memory(err);
    }
    *p = (struct overlays_packer){.fd = -1, .on_done = on_done, .user = user};
    r = start(p, loop, overlays, file, groups, (size_t)n, err);
    for (int i = 0; i < n; i++)
        (void)close(groups[i]);
    if (r < 0) {
        overlays_packer_free(p);
        return -1;
    }
    *ret_packer = p;
    return 0;
}
