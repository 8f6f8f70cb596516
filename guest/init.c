#include "guest/init.h"

#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest/oom_rank.h"
#include "sandbox/domain.h"
#include "wire/frame.h"

struct init {
    int control;
    pid_t processes[WIRE_PROCESSES]; /* kernels and commands; 0: none */
    init_kernel_fn become_kernel;
    struct frame_decoder decoder;
};

static uint64_t microseconds(const struct timeval *tv)
{
    return (uint64_t)tv->tv_sec * 1000000u + (uint64_t)tv->tv_usec;
}

static void report_exit(const struct init *in, uint32_t process, int status,
                        const struct rusage *usage)
{
    struct pack p;

    pack_init(&p, 64);
    wire_pack_exited(&p,
                     &(struct wire_exited){
                         .process = process,
                         .status = (uint32_t)status,
                         .cpu_us = microseconds(&usage->ru_utime) + microseconds(&usage->ru_stime),
                         .max_rss_kb = (uint64_t)usage->ru_maxrss,
                     });
    if (frame_send(in->control, WIRE_EXITED, &p, NULL, 0) < 0)
        domain_exit(1);
    pack_done(&p);
}

static void reap(struct init *in)
{
    struct rusage usage;
    int status;
    pid_t pid;

    while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0)
        for (uint32_t i = 0; i < WIRE_PROCESSES; i++)
            if (in->processes[i] == pid) {
                in->processes[i] = 0;
                report_exit(in, i, status, &usage);
            }
}

/* --- what the supervisor asks for --- */

static void start_process(struct init *in, uint32_t process)
{
    int fds[WIRE_KERNEL_FDS];
    pid_t pid;

    for (size_t i = 0; i < WIRE_KERNEL_FDS; i++) {
        fds[i] = frame_take_fd(&in->decoder);
        if (fds[i] < 0)
            domain_exit(1);
    }
    if (in->processes[process])
        domain_exit(1); /* the supervisor waits for the end of the one before */
    oom_rank_as_program();
    pid = fork();
    if (pid == 0) {
        init_leave();
        in->become_kernel(fds); /* closes what it does not need, our socket among it */
    }
    oom_rank_as_init();
    for (size_t i = 0; i < WIRE_KERNEL_FDS; i++)
        (void)close(fds[i]);
    if (pid < 0) /* at the limit of processes: the same to the supervisor as one that ended */
        report_exit(in, process, SIGKILL, &(struct rusage){0});
    else
        in->processes[process] = pid;
}

/* One look may miss what is being started. What is left in the end ends with the sandbox. */
#define LOOKS 3

/* The jobs of a shell on a terminal have groups of their own. Of processes only numbers are read,
 * which Linux gives them. */
static void kill_session(pid_t leader)
{
    DIR *all = opendir("/proc");
    const struct dirent *entry;

    for (int look = 0; all && look < LOOKS; look++) {
        rewinddir(all);
        while ((entry = readdir(all))) {
            pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

            if (pid > 1 && pid != leader && getsid(pid) == leader)
                (void)kill(pid, SIGKILL);
        }
    }
    if (all)
        (void)closedir(all);
}

/* The process and what it started, unless that went its own way (setsid). A pid is ours until we
 * reap it, so it cannot mean somebody else. */
static void signal_process(const struct init *in, uint32_t process, int sig)
{
    pid_t pid = in->processes[process];

    if (pid <= 0)
        return;
    if (sig == SIGKILL && getsid(pid) == pid) /* it has a terminal */
        kill_session(pid);
    if (getpgid(pid) == pid)
        (void)kill(-pid, sig);
    if (getpgid(pid) != pid || sig == SIGKILL)
        (void)kill(pid, sig);
}

/* The socket of a connection to a server in here, which never waits: a full queue of that server is
 * the supervisor's to wait for. Returns -errno if there is none. */
static int connect_port(uint32_t port)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)port),
                                        .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), why;

    if (fd < 0)
        return -errno;
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 ||
        errno == EINPROGRESS)
        return fd;
    why = errno;
    (void)close(fd);
    return -why;
}

static void give_port(const struct init *in, uint32_t port)
{
    int fd = connect_port(port), r;
    struct pack p;

    pack_init(&p, 64);
    pack_u32(&p, fd < 0 ? (uint32_t)-fd : 0);
    r = frame_send(in->control, WIRE_CONNECTED, &p, &fd, fd < 0 ? 0 : 1);
    pack_done(&p);
    if (fd >= 0)
        (void)close(fd);
    if (r < 0)
        domain_exit(1);
}

static void obey(struct init *in)
{
    struct frame frame;
    struct unpack u;
    uint32_t process, sig;

    if (frame_wait(&in->decoder, in->control, &frame) != 1)
        domain_exit(0); /* the supervisor has let go: everything here ends with us */
    unpack_init(&u, frame.body, frame.len);
    process = unpack_u32(&u);
    switch (frame.type) {
    case WIRE_KERNEL:
        if (!unpack_ok(&u) || process >= WIRE_PROCESSES)
            domain_exit(1);
        start_process(in, process);
        break;
    case WIRE_SIGNAL:
        sig = unpack_u32(&u);
        if (!unpack_ok(&u) || process >= WIRE_PROCESSES)
            domain_exit(1);
        signal_process(in, process, (int)sig);
        if (frame_send(in->control, WIRE_SIGNALLED, NULL, NULL, 0) < 0)
            domain_exit(1);
        break;
    case WIRE_CONNECT:
        if (!unpack_ok(&u) || process == 0 || process > UINT16_MAX) /* it is a port here */
            domain_exit(1);
        give_port(in, process);
        break;
    default:
        domain_exit(1);
    }
}

static void on_child(int sig)
{
    (void)sig; /* it only has to wake ppoll() */
}

int init_prepare(void)
{
    struct sigaction action = {.sa_handler = on_child};
    sigset_t child;

    (void)sigemptyset(&child);
    (void)sigaddset(&child, SIGCHLD);
    return sigprocmask(SIG_BLOCK, &child, NULL) < 0 || sigaction(SIGCHLD, &action, NULL) < 0 ? -1
                                                                                             : 0;
}

void init_leave(void)
{
    sigset_t none;

    (void)sigemptyset(&none);
    (void)signal(SIGCHLD, SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

void init_main(int control, pid_t first, init_kernel_fn become_kernel)
{
    struct init in = {.control = control, .processes = {first}, .become_kernel = become_kernel};
    struct pollfd watched = {.fd = control, .events = POLLIN};
    sigset_t none;

    frame_decoder_init(&in.decoder);
    (void)sigemptyset(&none);
    for (;;) {
        reap(&in);
        if (ppoll(&watched, 1, NULL, &none) > 0)
            obey(&in);
    }
}
