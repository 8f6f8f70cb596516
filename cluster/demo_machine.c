#include "cluster/demo_machine.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "cluster/join_files.h"

/* What a server that was asked to stop gets before it is killed. */
#define STOP_MS 8000

/* How long the cleaner tries: the last sandboxes may still be ending. */
#define CLEAN_TRIES 200
#define CLEAN_MS    50
#define CLEAN_DEPTH 32 /* descriptors that nftw() may keep open */

#define PATH_BYTES 512

/* --- programs --- */

static bool is_program(const char *path)
{
    return access(path, X_OK) == 0;
}

/* Beside this program in a build directory, or in bin/ of its prefix. */
static int find_belljar(char **ret_path, struct error *err)
{
    static const char *const places[] = {"belljar", "../../bin/belljar", "../bin/belljar"};
    char self[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *slash = NULL;

    if (len < 0)
        return error_errno(err, "find this program");
    self[len] = '\0';
    slash = strrchr(self, '/');
    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        cleanup_free char *path = NULL;

        if (asprintf(&path, "%.*s/%s", (int)(slash - self), self, places[i]) < 0)
            return error_memory(err);
        if (is_program(path)) {
            *ret_path = take_ptr(path);
            return 0;
        }
    }
    return error_set(err, E_NOT_FOUND, "`belljar` was not found near `%s`", self);
}

static int find_nats(char **ret_path, struct error *err)
{
    static const char *const places[] = {"/usr/sbin/nats-server", "/usr/bin/nats-server",
                                         "/usr/local/bin/nats-server"};

    for (size_t i = 0; i < ARRAY_SIZE(places); i++)
        if (is_program(places[i])) {
            *ret_path = strdup(places[i]);
            return *ret_path ? 0 : error_memory(err);
        }
    error_set(err, E_NOT_FOUND, "`nats-server` is not installed");
    return error_hint(err, "apt install nats-server");
}

/* --- the cleaner --- */

static void sleep_ms(long ms)
{
    const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};

    (void)nanosleep(&pause, NULL);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path) < 0 && errno != ENOENT ? -1 : 0;
}

/* Runs in a process of its own, which a terminal does not interrupt. */
static void clean(int lifeline, const char *dir)
{
    char byte;

    (void)setsid();
    while (read(lifeline, &byte, 1) < 0 && errno == EINTR)
        ;
    for (int i = 0; i < CLEAN_TRIES; i++) {
        (void)nftw(dir, remove_one, CLEAN_DEPTH, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
        if (access(dir, F_OK) < 0 && errno == ENOENT)
            _exit(0);
        sleep_ms(CLEAN_MS);
    }
    _exit(1);
}

static int start_cleaner(struct demo *demo, struct error *err)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return error_errno(err, "make a pipe");
    demo->cleaner = fork();
    if (demo->cleaner < 0)
        return error_errno(err, "start the cleaner");
    if (demo->cleaner == 0) {
        (void)close(ends[1]);
        clean(ends[0], demo->dir);
    }
    (void)close(ends[0]);
    demo->lifeline = ends[1];
    return 0;
}

/* --- files --- */

/* A port of loopback that is free now. */
static int free_port(uint16_t *ret_port, int *ret_fd, struct error *err)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    cleanup_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&at, len) < 0 ||
        getsockname(fd, (struct sockaddr *)&at, &len) < 0)
        return error_errno(err, "find a free port");
    *ret_port = ntohs(at.sin_port);
    *ret_fd = take_fd(fd);
    return 0;
}

/* All are held until the last is known, so that each is another one. */
static int choose_ports(struct demo *demo, struct error *err)
{
    int held[3 * DEMO_MACHINES];
    size_t count = 0;
    int r = 0;

    for (size_t i = 0; i < DEMO_MACHINES && r == 0; i++) {
        uint16_t *const ports[] = {&demo->machines[i].port, &demo->machines[i].route_port,
                                   &demo->machines[i].http_port};

        for (size_t j = 0; j < ARRAY_SIZE(ports) && r == 0; j++) {
            r = free_port(ports[j], &held[count], err);
            count += r == 0;
        }
    }
    while (count)
        (void)close(held[--count]);
    return r;
}

static int make_dirs(const struct demo *demo, const char *name, struct error *err)
{
    static const char *const below[] = {"", "/run", "/state", "/data", "/home"};
    char path[PATH_BYTES];

    for (size_t i = 0; i < ARRAY_SIZE(below); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s%s", demo->dir, name, below[i]);
        if (mkdir(path, 0700) < 0)
            return error_errno(err, "make `%s`", path);
    }
    return 0;
}

/* The engines share one file of tokens, as machines of a cluster share their tokens. */
static int write_engine(const struct demo *demo, const char *name, struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(4 * 1024);
    char dir[PATH_BYTES];

    (void)snprintf(dir, sizeof(dir), "%s/%s", demo->dir, name);
    if (buf_printf(&text, err,
                   "node = \"%s\"\n"
                   "cluster_socket = \"%s/engine.sock\"\n"
                   "listen = \"127.0.0.1:0\"\n"
                   "token_file = \"%s/token\"\n"
                   "tokens_file = \"%s/tokens.json\"\n"
                   "pool_size = 1\n"
                   "pool_hot = 0\n"
                   "preload = []\n",
                   name, dir, demo->dir, demo->dir) < 0)
        return -1;
    return join_write_file(dir, "config.toml", &text, NULL, err);
}

static int write_machine(struct demo *demo, size_t at, const struct join_machine *all,
                         const struct join_pair *ca, const char *password, struct error *err)
{
    struct join_plan plan = {.self = all[at]};
    struct join_pair pairs[JOIN_ROLES] = {JOIN_PAIR, JOIN_PAIR, JOIN_PAIR, JOIN_PAIR};
    struct join_machine others[DEMO_MACHINES - 1];
    char dir[PATH_BYTES], listen[64], socket[PATH_BYTES + 16], store[PATH_BYTES + 16];
    int r = 0;

    for (size_t i = 0; i < DEMO_MACHINES; i++)
        if (i != at)
            others[plan.other_count++] = all[i];
    (void)snprintf(dir, sizeof(dir), "%s/%s", demo->dir, demo->machines[at].name);
    (void)snprintf(listen, sizeof(listen), "127.0.0.1:%u", demo->machines[at].http_port);
    (void)snprintf(socket, sizeof(socket), "%s/engine.sock", dir);
    (void)snprintf(plan.password, sizeof(plan.password), "%s", password);
    plan.others = others;
    (void)snprintf(store, sizeof(store), "%s/store", dir);
    plan.dir = dir;
    plan.store = store;
    plan.listen = listen;
    plan.socket = socket;
    r = make_dirs(demo, demo->machines[at].name, err);
    if (r == 0)
        r = join_sign(ca, &all[at], pairs, err);
    if (r == 0)
        r = join_write_files(&plan, buf_str(&ca->cert), pairs, err);
    if (r == 0)
        r = write_engine(demo, demo->machines[at].name, err);
    for (size_t i = 0; i < JOIN_ROLES; i++)
        join_pair_done(&pairs[i]);
    return r;
}

static int write_machines(struct demo *demo, struct error *err)
{
    struct join_machine all[DEMO_MACHINES];
    cleanup(join_pair_done) struct join_pair ca = JOIN_PAIR;
    char password[JOIN_PASSWORD_SIZE];

    if (choose_ports(demo, err) < 0 || join_ca_make(&ca, err) < 0 ||
        join_make_password(password, err) < 0)
        return -1;
    for (size_t i = 0; i < DEMO_MACHINES; i++) {
        struct demo_machine *machine = &demo->machines[i];

        (void)snprintf(machine->name, sizeof(machine->name), "a%zu", i + 1);
        all[i] = (struct join_machine){
            .address = "127.0.0.1", .port = machine->port, .route_port = machine->route_port};
        (void)snprintf(all[i].name, sizeof(all[i].name), "%s", machine->name);
    }
    for (size_t i = 0; i < DEMO_MACHINES; i++)
        if (write_machine(demo, i, all, &ca, password, err) < 0)
            return -1;
    return 0;
}

int demo_make(struct demo *demo, struct error *err)
{
    if (find_belljar(&demo->belljar, err) < 0 || find_nats(&demo->nats_server, err) < 0)
        return -1;
    demo->lifeline = -1;
    (void)snprintf(demo->dir, sizeof(demo->dir), "/tmp/belljar-demo-XXXXXX");
    if (!mkdtemp(demo->dir))
        return error_errno(err, "make a directory in /tmp");
    if (start_cleaner(demo, err) < 0) {
        (void)rmdir(demo->dir);
        return -1;
    }
    return write_machines(demo, err);
}

/* --- processes --- */

/* In the new process: only what is safe there, because libnats has threads. */
static void become(const struct demo *demo, char *const *argv, char *const *env, int log_fd,
                   pid_t parent)
{
    (void)demo;
    (void)setpgid(0, 0); /* Ctrl-C is for the demo */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
        _exit(127);
    (void)dup2(log_fd, STDOUT_FILENO);
    (void)dup2(log_fd, STDERR_FILENO);
    (void)close(STDIN_FILENO);
    (void)open("/dev/null", O_RDONLY);
    (void)execve(argv[0], argv, env);
    _exit(127);
}

int demo_start(struct demo *demo, size_t at, enum demo_process which, struct error *err)
{
    static const char *const logs[] = {"server.log", "engine.log", "roles.log"};
    struct demo_machine *machine = &demo->machines[at];
    char dir[PATH_BYTES], config[PATH_BYTES + 32], path[PATH_BYTES + 32];
    char state[PATH_BYTES + 32], run[PATH_BYTES + 32], data[PATH_BYTES + 32], home[PATH_BYTES + 32];
    char *const env[] = {"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
                         "LANG=C.UTF-8",
                         state,
                         run,
                         data,
                         home,
                         NULL};
    char *const server[] = {demo->nats_server, "-c", config, NULL};
    char *const engine[] = {demo->belljar, "serve", "--config", config, NULL};
    char *const roles[] = {demo->belljar, "cluster", "run", "--config", config, NULL};
    char *const *const commands[] = {server, engine, roles};
    static const char *const configs[] = {"nats-server.conf", "config.toml", "cluster.toml"};
    cleanup_close int log_fd = -1;
    pid_t self = getpid(), pid;

    (void)snprintf(dir, sizeof(dir), "%s/%s", demo->dir, machine->name);
    (void)snprintf(config, sizeof(config), "%s/%s", dir, configs[which]);
    (void)snprintf(path, sizeof(path), "%s/%s", dir, logs[which]);
    (void)snprintf(state, sizeof(state), "XDG_STATE_HOME=%s/state", dir);
    (void)snprintf(run, sizeof(run), "XDG_RUNTIME_DIR=%s/run", dir);
    (void)snprintf(data, sizeof(data), "XDG_DATA_HOME=%s/data", dir);
    (void)snprintf(home, sizeof(home), "HOME=%s/home", dir);
    log_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log_fd < 0)
        return error_errno(err, "`%s`", path);
    pid = fork();
    if (pid < 0)
        return error_errno(err, "start `%s`", commands[which][0]);
    if (pid == 0)
        become(demo, commands[which], env, log_fd, self);
    machine->pids[which] = pid;
    return 0;
}

void demo_kill(struct demo *demo, size_t at, enum demo_process which)
{
    pid_t *pid = &demo->machines[at].pids[which];

    if (*pid <= 0)
        return;
    (void)kill(*pid, SIGKILL);
    (void)waitpid(*pid, NULL, 0);
    *pid = 0;
}

void demo_config(const struct demo *demo, size_t at, char *path, size_t size)
{
    (void)snprintf(path, size, "%s/%s/cluster.toml", demo->dir, demo->machines[at].name);
}

static bool is_over(pid_t *pid)
{
    if (*pid > 0 && waitpid(*pid, NULL, WNOHANG) == *pid)
        *pid = 0;
    return *pid <= 0;
}

/* Asks first: an engine ends its sandboxes, a server its clients. */
static void stop(struct demo *demo, enum demo_process which)
{
    bool are_over = false;

    for (size_t i = 0; i < DEMO_MACHINES; i++)
        if (demo->machines[i].pids[which] > 0)
            (void)kill(demo->machines[i].pids[which], SIGTERM);
    for (long waited = 0; !are_over && waited < STOP_MS; waited += CLEAN_MS) {
        are_over = true;
        for (size_t i = 0; i < DEMO_MACHINES; i++)
            are_over = is_over(&demo->machines[i].pids[which]) && are_over;
        if (!are_over)
            sleep_ms(CLEAN_MS);
    }
    for (size_t i = 0; i < DEMO_MACHINES; i++)
        demo_kill(demo, i, which);
}

bool demo_end(struct demo *demo)
{
    int status = 0;

    for (int which = DEMO_PROCESSES - 1; which >= 0; which--)
        stop(demo, (enum demo_process)which);
    for (size_t i = 0; i < DEMO_MACHINES; i++)
        client_done(&demo->machines[i].gateway);
    free(take_ptr(demo->belljar));
    free(take_ptr(demo->nats_server));
    close_fd(&demo->lifeline);
    return demo->cleaner <= 0 || (waitpid(demo->cleaner, &status, 0) == demo->cleaner &&
                                  WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
