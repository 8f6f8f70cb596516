/* The first process of a virtual machine: makes its root of what the host shares, starts Belljar in
 * it, and passes the connections of the link (machine/link.h) on to Belljar's socket.
 *
 * Theory of operation. This program is linked statically and is all there is in the initramfs, with
 * kernel modules and the directory `root`, which becomes the root (machine/image.h has the layout).
 * Kernel modules are loaded, file systems mounted, the shares of the host mounted in their places;
 * then the command is started. Once its socket can be connected to, the link begins. When the
 * command ends, or anything here fails, the machine ends: the host sees that and says why, from
 * what was written to the console.
 *
 * It trusts the host. What runs in the machine does not reach it: its file descriptors are the port
 * and the sockets, and it parses nothing but the host's frames.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "machine/image.h"
#include "machine/mux.h"
#include "wire/machine.h"

#define LINE_MAX_BYTES 4096
#define WORDS_MAX      64

/* From the start of the command to its socket, and from the driver to the port. */
#define SOCKET_SECONDS 120
#define PORT_SECONDS   20

static pid_t command;

static void __attribute__((format(printf, 1, 2))) say(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    (void)fputs(IMAGE_SAYS, stderr);
    (void)vfprintf(stderr, fmt, args);
    (void)fputc('\n', stderr);
    va_end(args);
}

static _Noreturn void stop(void)
{
    sync();
    /* QEMU is told to end where the machine would start again. */
    (void)reboot(RB_AUTOBOOT);
    for (;;)
        (void)pause();
}

static _Noreturn void fail(const char *what)
{
    say("%s: %s", what, strerror(errno));
    stop();
}

static void must(int r, const char *what)
{
    if (r < 0)
        fail(what);
}

/* --- kernel modules --- */

static void load_module(char *path)
{
    size_t len = strlen(path);
    /* MODULE_INIT_COMPRESSED_FILE, Linux 5.17 */
    int flags = len > 3 && strcmp(path + len - 3, ".ko") != 0 ? 4 : 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || (syscall(SYS_finit_module, fd, "", flags) < 0 && errno != EEXIST))
        fail(path);
    (void)close(fd);
}

/* Calls `fn` for each line. */
static void each_line(const char *path, void (*fn)(char *line))
{
    char line[LINE_MAX_BYTES];
    FILE *file = fopen(path, "re");

    if (!file)
        fail(path);
    while (file && fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = '\0';
        if (*line)
            fn(line);
    }
    if (file)
        (void)fclose(file);
}

/* --- file systems --- */

static void make_directories(const char *path)
{
    char part[LINE_MAX_BYTES];

    for (const char *slash = path; (slash = strchr(slash + 1, '/')) != NULL;) {
        (void)snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
        (void)mkdir(part, 0755);
    }
    (void)mkdir(path, 0755);
}

/* A share of which single directories are shown is mounted aside, once. */
#define ASIDE IMAGE_ROOT "/mnt"

static void bind_part(const char *tag, const char *name, const char *target)
{
    char source[LINE_MAX_BYTES];
    struct stat aside, root;

    must(stat(ASIDE, &aside), ASIDE);
    must(stat(IMAGE_ROOT, &root), IMAGE_ROOT);
    if (aside.st_dev == root.st_dev)
        must(mount(tag, ASIDE, "virtiofs", MS_RDONLY | MS_NOSUID | MS_NODEV, ""), tag);
    (void)snprintf(source, sizeof(source), ASIDE "/%s", name);
    must(mount(source, target, NULL, MS_BIND, NULL), target);
}

static void mount_share(char *line)
{
    char *path = strchr(line, ' '), *name = strchr(line, '/');
    char target[LINE_MAX_BYTES];

    if (!path)
        return;
    *path++ = '\0';
    (void)snprintf(target, sizeof(target), IMAGE_ROOT "%s", path);
    make_directories(target);
    if (name && name < path) {
        *name++ = '\0';
        bind_part(line, name, target);
    } else {
        must(mount(line, target, "virtiofs", MS_RDONLY | MS_NOSUID | MS_NODEV, ""), target);
    }
}

static const struct {
    const char *type, *target, *options;
    unsigned long flags;
} mounts[] = {
    {"proc", IMAGE_ROOT "/proc", "", MS_NOSUID | MS_NODEV | MS_NOEXEC},
    {"sysfs", IMAGE_ROOT "/sys", "", MS_NOSUID | MS_NODEV | MS_NOEXEC},
    {"cgroup2", IMAGE_ROOT "/sys/fs/cgroup", "", MS_NOSUID | MS_NODEV | MS_NOEXEC},
    {"devtmpfs", IMAGE_ROOT "/dev", "mode=0755", MS_NOSUID},
    {"devpts", IMAGE_ROOT "/dev/pts", "newinstance,ptmxmode=0666,mode=0620", MS_NOSUID | MS_NOEXEC},
    {"tmpfs", IMAGE_ROOT "/dev/shm", "mode=1777", MS_NOSUID | MS_NODEV},
    {"tmpfs", IMAGE_ROOT "/run", "mode=0755", MS_NOSUID | MS_NODEV},
    {"tmpfs", IMAGE_ROOT "/tmp", "mode=1777", MS_NOSUID | MS_NODEV},
    {"tmpfs", IMAGE_ROOT "/var", "mode=0755", MS_NOSUID | MS_NODEV},
};

static void make_root(void)
{
    /* Somewhere to be moved: a directory is none. */
    must(mount(IMAGE_ROOT, IMAGE_ROOT, NULL, MS_BIND, NULL), IMAGE_ROOT);
    for (size_t i = 0; i < sizeof(mounts) / sizeof(*mounts); i++) {
        (void)mkdir(mounts[i].target, 0755);
        must(mount(mounts[i].type, mounts[i].target, mounts[i].type, mounts[i].flags,
                   mounts[i].options),
             mounts[i].target);
    }
    must(mkdir(IMAGE_ROOT "/var/tmp", 0777), "/var/tmp");
    must(chmod(IMAGE_ROOT "/var/tmp", 01777), "/var/tmp");
    each_line(IMAGE_SHARES, mount_share);
    (void)umount2(ASIDE, MNT_DETACH); /* it may not be mounted */
}

/* A process that is only chrooted may make no user namespaces, so the root is moved. */
static void enter_root(void)
{
    must(chdir(IMAGE_ROOT), IMAGE_ROOT);
    must(mount(".", "/", NULL, MS_MOVE, NULL), "the new root");
    must(chroot("."), "the new root");
    must(chdir("/"), "the new root");
}

static void raise_loopback(void)
{
    struct ifreq request = {.ifr_name = "lo"};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    request.ifr_flags = IFF_UP | IFF_RUNNING;
    if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request) < 0)
        fail("lo");
    (void)close(fd);
    must(sethostname("belljar", 7), "the host name");
}

/* --- the command --- */

static char *words[WORDS_MAX + 1];
static size_t n_words;

static void take_word(char *line)
{
    if (n_words < WORDS_MAX && (words[n_words] = strdup(line)) != NULL)
        n_words++;
}

static void start_command(void)
{
    static char *const environment[] = {"PATH=/usr/bin:/bin", "HOME=/run", "LANG=C.UTF-8", NULL};
    sigset_t none;
    int proof[2];

    each_line(IMAGE_COMMAND, take_word);
    if (!n_words)
        fail(IMAGE_COMMAND);
    must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, proof), "a pair of sockets");
    command = fork();
    must(command, "the command");
    if (command > 0) {
        (void)close(proof[0]);
        (void)close(proof[1]);
        return;
    }
    if (proof[0] == MACHINE_PROOF)
        (void)fcntl(MACHINE_PROOF, F_SETFD, 0);
    else
        must(dup2(proof[0], MACHINE_PROOF), "a pair of sockets");
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)setsid();
    (void)execve(words[0], words, environment);
    say("%s: %s", words[0], strerror(errno));
    _exit(127);
}

/* Processes that nobody waits for are ours. */
static void reap(void)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != command)
            continue;
        if (WIFSIGNALED(status))
            say("%s was ended by signal %d", words[0], WTERMSIG(status));
        else
            say("%s ended with exit status %d", words[0], WEXITSTATUS(status));
        stop();
    }
}

static int connect_to_command(void *user)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = MACHINE_SOCKET};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    (void)user;
    if (fd < 0)
        return -1;
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

static void rest(void)
{
    (void)nanosleep(&(struct timespec){0, 20000000}, NULL);
}

static void wait_for_command(void)
{
    for (int i = 0; i < SOCKET_SECONDS * 50; i++) {
        int fd = connect_to_command(NULL);

        if (fd >= 0) {
            (void)close(fd);
            return;
        }
        reap();
        rest();
    }
    say("%s has no socket after %d seconds", words[0], SOCKET_SECONDS);
    stop();
}

/* --- the link --- */

/* The port by its name; -1: it is not there. */
static int open_port_once(void)
{
    DIR *ports = opendir("/sys/class/virtio-ports");
    struct dirent *entry;
    int fd = -1;

    while (ports && fd < 0 && (entry = readdir(ports)) != NULL) {
        char path[512], name[64] = "";
        FILE *file;

        (void)snprintf(path, sizeof(path), "/sys/class/virtio-ports/%s/name", entry->d_name);
        file = fopen(path, "re");
        if (!file)
            continue;
        if (fgets(name, sizeof(name), file) && strcmp(name, MACHINE_PORT "\n") == 0) {
            (void)snprintf(path, sizeof(path), "/dev/%s", entry->d_name);
            fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
        }
        (void)fclose(file);
    }
    if (ports)
        (void)closedir(ports);
    return fd;
}

static int open_port(void)
{
    for (int i = 0; i < PORT_SECONDS * 50; i++) {
        int fd = open_port_once();

        if (fd >= 0)
            return fd;
        rest();
    }
    errno = ENOENT;
    fail(MACHINE_PORT);
}

static _Noreturn void serve(int children)
{
    struct pollfd fds[MUX_POLL + 1];
    struct mux *mux = mux_new(&(struct mux_options){
        .side = LINK_MACHINE, .port = open_port(), .on_open = connect_to_command});

    while (mux) {
        size_t n = mux_prepare(mux, fds);
        struct signalfd_siginfo info;

        fds[n] = (struct pollfd){.fd = children, .events = POLLIN};
        if (poll(fds, n + 1, -1) < 0)
            continue;
        if (read(children, &info, sizeof(info)) > 0)
            reap();
        if (mux_handle(mux, fds, n) == MUX_GONE)
            rest(); /* until a host comes back */
    }
    fail("the link");
}

int main(void)
{
    sigset_t child;
    int children;

    (void)setvbuf(stderr, NULL, _IOLBF, 0);
    (void)signal(SIGPIPE, SIG_IGN);
    each_line(IMAGE_MODULES, load_module);
    make_root();
    enter_root();
    raise_loopback();
    (void)sigemptyset(&child);
    (void)sigaddset(&child, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &child, NULL);
    children = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    must(children, "signals");
    start_command();
    wait_for_command();
    say(IMAGE_READY);
    serve(children);
}
