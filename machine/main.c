/* belljar-machine: one virtual machine with an engine in it, for the process that starts it.
 *
 * Theory of operation. The process that was started (the outer one) finds a kernel, makes an
 * initramfs, and goes behind a wall of namespaces (machine/wall.h); if it was root it is another
 * user first. Its child is the first process in there. That one starts a virtiofsd for each share
 * and QEMU (machine/monitor.h), gives up what privileges it has in there, and passes bytes between
 * the serial port of the machine and the connections that it is given (machine/mux.h).
 *
 * How it ends. The outer process ends with its parent, the inner one with the outer one, and
 * everything else with the inner one, which is the first of their process namespace. Files are in
 * memory, in a mount namespace. So nothing has to be removed, whoever is killed.
 *
 * What the machine sends is a stranger's: a mistake in its frames ends it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "machine/console.h"
#include "machine/image.h"
#include "machine/kernel.h"
#include "machine/monitor.h"
#include "machine/mux.h"
#include "machine/wall.h"
#include "sandbox/caps.h"
#include "wire/fds.h"
#include "wire/machine.h"

#define FILES_MAX 16

struct options {
    bool is_check, is_emulated, is_loud, has_log;
    unsigned memory_mb, cpus;
    const char *init; /* machine/init.c, as a program */
    struct wall_share shares[WALL_SHARES_MAX];
    size_t n_shares;
    char *files[FILES_MAX]; /* "PATH=SOURCE": in the machine's root, a copy */
    size_t n_files;
    struct grants grants;
    struct ns_ids ids; /* of whom root becomes; count 0: it chooses */
    char **command;
};

/* --- the initramfs --- */

static const char *const directories[] = {
    "bin", "etc", "dev", "proc", "sys", "run", "tmp", "var", "usr", "root", "home", "mnt",
};
static const char *const links[] = {"sbin", "lib", "lib32", "lib64"};

/* What programs need of /etc; Belljar's sandboxes make a /etc of their own of it. */
static const struct {
    const char *path, *text;
} etc_made[] = {
    {"root/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n"
                        "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n"},
    {"root/etc/group", "root:x:0:\nnogroup:x:65534:\n"},
    {"root/etc/hosts", "127.0.0.1 localhost belljar\n"},
    {"root/etc/hostname", "belljar\n"},
    {"root/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"},
};
static const char *const etc_copies[] = {
    "ld.so.cache", "mime.types", "services", "protocols", "debian_version", "matplotlibrc",
};

static int add_alternatives(struct buf *image, struct error *err)
{
    cleanup_closedir DIR *directory = opendir("/etc/alternatives");
    const struct dirent *entry;

    if (image_add_directory(image, "root/etc/alternatives", 0755, err) < 0)
        return -1;
    while (directory && (entry = readdir(directory)) != NULL) {
        char path[512], target[PATH_MAX];
        ssize_t n = readlinkat(dirfd(directory), entry->d_name, target, sizeof(target) - 1);

        if (n < 0)
            continue;
        target[n] = '\0';
        (void)snprintf(path, sizeof(path), "root/etc/alternatives/%s", entry->d_name);
        if (image_add_link(image, path, target, err) < 0)
            return -1;
    }
    return 0;
}

static int add_etc(struct buf *image, struct error *err)
{
    char path[64], source[64];

    for (size_t i = 0; i < ARRAY_SIZE(etc_made); i++)
        if (image_add_file(image, etc_made[i].path, 0644, etc_made[i].text,
                           strlen(etc_made[i].text), err) < 0)
            return -1;
    for (size_t i = 0; i < ARRAY_SIZE(etc_copies); i++) {
        (void)snprintf(path, sizeof(path), "root/etc/%s", etc_copies[i]);
        (void)snprintf(source, sizeof(source), "/etc/%s", etc_copies[i]);
        if (access(source, R_OK) == 0 && image_add_copy(image, path, 0644, source, err) < 0)
            return -1;
    }
    return add_alternatives(image, err);
}

static int add_modules(struct buf *image, const struct kernel *kernel, struct error *err)
{
    cleanup(buf_done) struct buf order = BUF_OF(4096);
    char path[512];

    if (image_add_directory(image, "modules", 0755, err) < 0)
        return -1;
    for (size_t i = 0; i < kernel->n_modules; i++) {
        (void)snprintf(path, sizeof(path), "/modules/%s", strrchr(kernel->modules[i], '/') + 1);
        if (image_add_copy(image, path, 0644, kernel->modules[i], err) < 0 ||
            buf_printf(&order, err, "%s\n", path) < 0)
            return -1;
    }
    return image_add_file(image, IMAGE_MODULES, 0644, buf_str(&order), order.len, err);
}

struct mount_line {
    char tag[40];
    const char *path;
};

static int compare_lines(const void *a, const void *b)
{
    return strcmp(((const struct mount_line *)a)->path, ((const struct mount_line *)b)->path);
}

/* By their paths, so that what lies in another comes behind it. */
static int list_mounts(const struct options *o, struct buf *out, struct error *err)
{
    struct mount_line lines[WALL_SHARES_MAX + MACHINE_GRANTS_MAX];
    size_t n = 0;

    for (size_t i = 0; i < o->n_shares; i++, n++) {
        (void)snprintf(lines[n].tag, sizeof(lines[n].tag), "%s", o->shares[i].tag);
        lines[n].path = o->shares[i].path;
    }
    for (size_t i = 0; i < o->grants.count; i++, n++) {
        (void)snprintf(lines[n].tag, sizeof(lines[n].tag), GRANTS_TAG "/%zu", i);
        lines[n].path = o->grants.list[i].path;
    }
    qsort(lines, n, sizeof(lines[0]), compare_lines);
    for (size_t i = 0; i < n; i++)
        if (buf_printf(out, err, "%s %s\n", lines[i].tag, lines[i].path) < 0)
            return -1;
    return 0;
}

static int add_root(struct buf *image, const struct options *o, struct error *err)
{
    cleanup(buf_done) struct buf shares = BUF_OF(256 * 1024), command = BUF_OF(64 * 1024);
    char path[512];

    if (image_add_directory(image, "root", 0755, err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_SIZE(directories); i++) {
        (void)snprintf(path, sizeof(path), "root/%s", directories[i]);
        if (i == 0 ? image_add_link(image, path, "usr/bin", err) < 0
                   : image_add_directory(image, path, 0755, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
        char target[32];

        (void)snprintf(path, sizeof(path), "root/%s", links[i]);
        (void)snprintf(target, sizeof(target), "usr/%s", links[i]);
        if (image_add_link(image, path, target, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < o->n_files; i++) {
        char *equals = strchr(o->files[i], '=');

        (void)snprintf(path, sizeof(path), "root%.*s", (int)(equals - o->files[i]), o->files[i]);
        if (image_add_copy(image, path, 0644, equals + 1, err) < 0)
            return -1;
    }
    if (list_mounts(o, &shares, err) < 0)
        return -1;
    for (char **word = o->command; *word; word++)
        if (buf_printf(&command, err, "%s\n", *word) < 0)
            return -1;
    if (image_add_file(image, IMAGE_SHARES, 0644, buf_str(&shares), shares.len, err) < 0 ||
        image_add_file(image, "root" IMAGE_COMMAND, 0644, buf_str(&command), command.len, err) < 0)
        return -1;
    return add_etc(image, err);
}

static int make_image(const struct options *o, const struct kernel *kernel, struct buf *image,
                      struct error *err)
{
    if (image_add_directory(image, "dev", 0755, err) < 0 || image_add_console(image, err) < 0 ||
        image_add_copy(image, "init", 0755, o->init, err) < 0 ||
        add_modules(image, kernel, err) < 0 || add_root(image, o, err) < 0)
        return -1;
    return image_end(image, err);
}

/* --- words to the process that started us --- */

static int fail_with(const struct error *err)
{
    char packet[MACHINE_PACKET_MAX];
    int n = snprintf(packet, sizeof(packet), "%c%s\n%s", MACHINE_FAILED, error_message(err),
                     err->hint ? err->hint : "");

    if (n >= (int)sizeof(packet))
        n = sizeof(packet) - 1;
    (void)send(MACHINE_CONTROL, packet, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);
    return 1;
}

/* --- the inner process --- */

struct inner {
    struct mux *mux;
    struct monitor monitor;
    struct console console;
    int children;
    bool is_ready;
};

static void drain_console(struct inner *in)
{
    while (poll(&(struct pollfd){.fd = in->console.fd, .events = POLLIN}, 1, 0) > 0 &&
           console_take(&in->console))
        ;
}

static int has_ended(struct inner *in, bool is_daemon, struct error *err)
{
    char line[CONSOLE_LINE];

    drain_console(in);
    console_last_words(&in->console, in->is_ready, line);
    return error_set(err, E_SYSTEM, "%s has ended%s%s",
                     is_daemon ? "virtiofsd" : "the virtual machine", *line ? ": " : "", line);
}

static int take_child(struct inner *in, struct error *err)
{
    struct signalfd_siginfo info;
    int status;
    pid_t pid;

    (void)!read(in->children, &info, sizeof(info));
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == in->monitor.qemu)
            return has_ended(in, false, err);
        for (size_t i = 0; i < in->monitor.n_daemons; i++) {
            if (pid != in->monitor.daemons[i])
                continue;
            /* A QEMU that aborts lets go of its daemons first, which end by themselves. */
            drain_console(in);
            return has_ended(in, WIFSIGNALED(status) || !console_has_complaint(&in->console), err);
        }
    }
    return 0;
}

/* -1: the process that started us has ended. */
static int take_packet(struct inner *in)
{
    char control[FDS_SPACE(1)], byte;
    struct iovec iov = {&byte, 1};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control,
                         .msg_controllen = sizeof(control)};
    ssize_t n = recvmsg(MACHINE_CONTROL, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    int fd;

    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    if (n == 0)
        return -1;
    if (fds_take(&msg, &fd, 1) == 0)
        return 0;
    if (byte != MACHINE_CONNECT || fcntl(fd, F_SETFL, O_NONBLOCK) < 0 || mux_add(in->mux, fd) < 0)
        (void)close(fd);
    return 0;
}

static int turn(struct inner *in, struct error *err)
{
    enum { CONTROL, CONSOLE, CHILDREN, OWN };
    static struct pollfd fds[OWN + MUX_POLL];
    size_t n = mux_prepare(in->mux, fds + OWN);
    enum mux_state state;
    bool has_ended_above;

    /* A connection waits there until there is room for it. */
    fds[CONTROL] =
        (struct pollfd){.fd = MACHINE_CONTROL, .events = mux_has_room(in->mux) ? POLLIN : 0};
    fds[CONSOLE] = (struct pollfd){.fd = in->console.fd, .events = POLLIN};
    fds[CHILDREN] = (struct pollfd){.fd = in->children, .events = POLLIN};
    if (poll(fds, OWN + n, -1) < 0)
        return errno == EINTR ? 0 : error_errno(err, "poll");
    if (fds[CONSOLE].revents)
        (void)console_take(&in->console);
    if (fds[CHILDREN].revents && take_child(in, err) < 0)
        return -1;
    state = mux_handle(in->mux, fds + OWN, n);
    if (state == MUX_BROKEN)
        return error_set(err, E_PROTOCOL, "the virtual machine broke the rules of its link");
    if (state == MUX_GONE)
        return has_ended(in, false, err);
    if (mux_is_up(in->mux) && !in->is_ready) {
        const char ready = MACHINE_READY;

        in->is_ready = true;
        (void)send(MACHINE_CONTROL, &ready, 1, MSG_NOSIGNAL);
    }
    has_ended_above = (fds[CONTROL].revents & (POLLHUP | POLLERR)) != 0;
    if (fds[CONTROL].revents && (has_ended_above || mux_has_room(in->mux)) && take_packet(in) < 0)
        _exit(0);
    return 0;
}

/* Larger than in any process before. */
static uint64_t new_epoch(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int open_inner(const struct options *o, struct inner *in, struct error *err)
{
    struct monitor_options monitor = {.is_emulated = o->is_emulated,
                                      .memory_mb = o->memory_mb,
                                      .cpus = o->cpus,
                                      .shares = o->shares,
                                      .n_shares = o->n_shares,
                                      .has_grants = o->grants.count > 0};
    cleanup_close int theirs = -1, console = -1;
    int pair[2];
    sigset_t child;

    (void)sigemptyset(&child);
    (void)sigaddset(&child, SIGCHLD);
    if (sigprocmask(SIG_BLOCK, &child, NULL) < 0 ||
        (in->children = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK)) < 0)
        return error_errno(err, "watch processes");
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return error_errno(err, "make a serial port");
    theirs = monitor.link = pair[1];
    if (fcntl(pair[0], F_SETFL, O_NONBLOCK) < 0)
        return error_errno(err, "make a serial port");
    if (console_open(&in->console, o->is_loud, o->has_log, &console, err) < 0)
        return -1;
    monitor.console = console;
    if (monitor_start(&monitor, &in->monitor, err) < 0 || caps_drop_all(err) < 0 ||
        caps_no_new_privs(err) < 0)
        return -1;
    in->mux =
        mux_new(&(struct mux_options){.side = LINK_HOST, .port = pair[0], .epoch = new_epoch()});
    return in->mux ? 0 : error_memory(err);
}

static int run_inner(const struct options *o, const struct wall_options *wall)
{
    cleanup_error struct error err = {0};
    struct inner in = {0};

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)signal(SIGPIPE, SIG_IGN);
    if (wall_enter(wall, &err) < 0 || open_inner(o, &in, &err) < 0)
        return fail_with(&err);
    while (turn(&in, &err) == 0)
        ;
    return fail_with(&err);
}

/* --- the outer process --- */

static bool say_part(const char *name, int r, const char *found, const struct error *err)
{
    (void)printf("%s\t%s\t%s\t%s\n", name, r < 0 ? MACHINE_MISSING : MACHINE_THERE,
                 r < 0 ? error_message(err) : found, r < 0 && err->hint ? err->hint : "");
    return r == 0;
}

/* A line for each part (wire/machine.h). */
static int check(const struct options *o)
{
    cleanup(kernel_done) struct kernel kernel = {0};
    cleanup_error struct error missing = {0};
    bool is_whole = true;
    int r;

    for (size_t i = 0; i < MONITOR_PARTS; i++) {
        cleanup_error struct error err = {0};
        char found[MONITOR_TEXT] = "";

        if (o->is_emulated && monitor_parts[i].is_for_kvm)
            continue;
        r = monitor_parts[i].check(found, &err);
        is_whole &= say_part(monitor_parts[i].name, r, found, &err);
    }
    r = kernel_find("/boot", "/lib/modules", &kernel, &missing);
    is_whole &= say_part("kernel", r, r == 0 ? kernel.image : "", &missing);
    return is_whole ? 0 : 1;
}

static int run(struct options *o, struct error *err)
{
    cleanup(buf_done) struct buf image = BUF_OF(IMAGE_BYTES_MAX);
    cleanup(kernel_done) struct kernel kernel = {0};
    struct wall_options wall = {.image = &image,
                                .shares = o->shares,
                                .n_shares = o->n_shares,
                                .grants = &o->grants,
                                .has_kvm = !o->is_emulated};
    pid_t parent = getppid(), pid;
    int status;

    if (monitor_check(o->is_emulated, err) < 0 ||
        kernel_find("/boot", "/lib/modules", &kernel, err) < 0)
        return -1;
    if (make_image(o, &kernel, &image, err) < 0)
        return error_wrap(err, "make the initramfs");
    wall.kernel = kernel.image;
    if (wall_unshare(&o->ids, err) < 0)
        return -1;
    /* It does not outlast a change of the user. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
        return error_set(err, E_SYSTEM, "whoever started it has ended");
    pid = fork();
    if (pid < 0)
        return error_errno(err, "fork");
    if (pid == 0)
        _exit(run_inner(o, &wall));
    /* The inner process has it to itself: its end is seen. */
    (void)close(MACHINE_CONTROL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static int add_share(struct options *o, const char *path)
{
    struct wall_share *share = &o->shares[o->n_shares];

    if (o->n_shares == WALL_SHARES_MAX || *path != '/')
        return -1;
    (void)snprintf(share->tag, sizeof(share->tag), "share%zu", o->n_shares++);
    share->path = path;
    return 0;
}

/* "UID:GID" */
static bool read_ids(const char *text, struct ns_ids *ids)
{
    char *end;
    unsigned long uid = strtoul(text, &end, 10);
    unsigned long gid = *end == ':' ? strtoul(end + 1, &end, 10) : 0;

    *ids = (struct ns_ids){(uint32_t)uid, (uint32_t)gid, 1};
    return !*end && uid && gid && uid < UINT32_MAX && gid < UINT32_MAX;
}

static int usage(void)
{
    (void)fputs("belljar-machine is started by belljar.\n", stderr);
    return 64;
}

static bool read_number(const char *text, unsigned min, unsigned max, unsigned *ret)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);

    if (!*text || *end || value < min || value > max)
        return false;
    *ret = (unsigned)value;
    return true;
}

static int parse(struct options *o, int argc, char **argv)
{
    enum { CHECK = 1, EMULATE, LOUD, LOG, MEMORY, CPUS, INIT, SHARE, FILE_COPY, GRANT, HIDE, IDS };
    static const struct option table[] = {
        {"check", no_argument, NULL, CHECK},
        {"emulate", no_argument, NULL, EMULATE},
        {"console", no_argument, NULL, LOUD},
        {"log", no_argument, NULL, LOG},
        {"memory", required_argument, NULL, MEMORY},
        {"cpus", required_argument, NULL, CPUS},
        {"init", required_argument, NULL, INIT},
        {"share", required_argument, NULL, SHARE},
        {"file", required_argument, NULL, FILE_COPY},
        {"grant", required_argument, NULL, GRANT},
        {"hide", required_argument, NULL, HIDE},
        {"ids", required_argument, NULL, IDS},
        {NULL, 0, NULL, 0},
    };
    bool is_good = true;
    int option;

    while (is_good && (option = getopt_long(argc, argv, "", table, NULL)) != -1) {
        if (option == CHECK)
            o->is_check = true;
        else if (option == EMULATE)
            o->is_emulated = true;
        else if (option == LOUD)
            o->is_loud = true;
        else if (option == LOG)
            o->has_log = true;
        else if (option == MEMORY)
            is_good = read_number(optarg, 256, 1 << 20, &o->memory_mb);
        else if (option == CPUS)
            is_good = read_number(optarg, 1, 64, &o->cpus);
        else if (option == INIT)
            o->init = optarg;
        else if (option == SHARE)
            is_good = add_share(o, optarg) == 0;
        else if (option == FILE_COPY && o->n_files < FILES_MAX && strchr(optarg, '='))
            o->files[o->n_files++] = optarg;
        else if (option == GRANT)
            is_good = grants_add(&o->grants, optarg) == 0;
        else if (option == HIDE)
            is_good = grants_hide(&o->grants, optarg) == 0;
        else if (option == IDS)
            is_good = read_ids(optarg, &o->ids);
        else
            is_good = false;
    }
    o->command = argv + optind;
    return is_good && (o->is_check || (o->init && optind < argc)) ? 0 : -1;
}

int main(int argc, char **argv)
{
    cleanup_error struct error err = {0};
    struct options options = {.memory_mb = 1024, .cpus = 1};

    if (parse(&options, argc, argv) < 0)
        return usage();
    if (options.is_check)
        return check(&options);
    if (run(&options, &err) == 0)
        return 0;
    return fail_with(&err);
}
