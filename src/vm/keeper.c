#include "vm/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/log.h"
#include "base/paths.h"
#include "sandbox/cgroup.h"
#include "sandbox/ns.h"
#include "vm/check.h"
#include "vm/grants.h"
#include "vm/inside.h"
#include "vm/log.h"
#include "wire/fds.h"
#include "wire/machine.h"

/* Two for each directory, and for each place in them that is hidden. */
#define WORDS_MAX     (40 + 2 * (MACHINE_GRANTS_MAX + MACHINE_HIDDEN_MAX))
#define CONFIG_FD     4
#define CONFIG_INSIDE "/etc/belljar-machine.toml"

/* For a start on a busy host. Translated instructions are tens of times slower. */
#define BOOT_MS          90000
#define BOOT_MS_EMULATED 300000

/* Memory that QEMU and the virtiofsds may have beside the memory of the guest, which is theirs,
 * too. A translator keeps what it has translated. */
#define OVERHEAD_BYTES          ((uint64_t)512 << 20)
#define OVERHEAD_BYTES_EMULATED ((uint64_t)1536 << 20)
#define PROCESSES_MAX           2048 /* threads, of which each virtiofsd has up to 64 */

/* After a machine that did not start: doubled each time, until one is up. */
#define RETRY_MS     1000
#define RETRY_MS_MAX 60000

TAILQ_HEAD(keeper_guests, keeper_guest);

struct keeper {
    struct loop *loop;
    const struct config *config;
    char *program, *init;
    enum keeper_state state;
    pid_t pid;
    int control; /* -1: there is no machine */
    struct loop_watch *watch, *patience;
    struct loop_work answering;
    struct keeper_guests guests; /* in the order of their numbers */
    uint64_t n_asked;
    bool is_first; /* it is started although nobody waits */
    struct cgroup_host *cgroups;
    struct cgroup *cgroup; /* of the machine; NULL: there is none */
    uint64_t n_cgroups;
    struct vm_log *log;
    struct vm_grants *grants; /* of the machine, or of the last one; NULL: there was none */
    uint64_t started_ns, up_ns, retry_ns;
    unsigned n_failed; /* starts since one was up */
    uint64_t n_runs, n_starts;
    struct error failure; /* the last one; E_NONE: there was none */
    uint64_t failure_ns;
    void (*on_end)(void *user);
    void *user;
};

static bool is_emulated(const struct config *config)
{
    return strcmp(config->machine, "tcg") == 0;
}

static int boot_ms(const struct config *config)
{
    return is_emulated(config) ? BOOT_MS_EMULATED : BOOT_MS;
}

/* --- guests --- */

static void tell(struct keeper *keeper, struct keeper_guest *guest, int fd, const struct error *err)
{
    keeper_leave(keeper, guest);
    guest->on_connection(guest, fd, err);
}

/* Those that wait now; who comes meanwhile begins anew. Whoever is told may make others leave. */
static void refuse_all(struct keeper *keeper, const struct error *err)
{
    const struct keeper_guest *first;
    uint64_t last = keeper->n_asked;

    while ((first = TAILQ_FIRST(&keeper->guests)) != NULL && first->number <= last)
        tell(keeper, TAILQ_FIRST(&keeper->guests), -1, err);
}

static int connect_guest(struct keeper *keeper, int *ret_fd, struct error *err)
{
    char byte = MACHINE_CONNECT, control[FDS_SPACE(1)];
    struct iovec iov = {&byte, 1};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    cleanup_close int ours = -1, theirs = -1;
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
        return error_errno(err, "socketpair");
    ours = pair[0];
    theirs = pair[1];
    fds_put(&msg, control, &theirs, 1);
    if (sendmsg(keeper->control, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return errno == EAGAIN ? error_set(err, E_BUSY, "the virtual machine is busy")
                               : error_errno(err, "connect to the virtual machine");
    *ret_fd = take_fd(ours);
    return 0;
}

static void answer_all(void *arg)
{
    struct keeper *keeper = arg;

    while (keeper->state == KEEPER_UP && !TAILQ_EMPTY(&keeper->guests)) {
        cleanup_error struct error err = {0};
        int fd = -1;

        if (connect_guest(keeper, &fd, &err) == 0)
            keeper->n_runs++;
        tell(keeper, TAILQ_FIRST(&keeper->guests), fd, &err);
    }
}

/* --- the process --- */

/* Its parent-death signals end all the others. */
static void forget(struct keeper *keeper)
{
    loop_watch_free(keeper->watch);
    loop_timer_stop(keeper->patience);
    keeper->watch = NULL;
    close_fd(&keeper->control);
    if (keeper->pid > 0) {
        (void)kill(keeper->pid, SIGKILL);
        while (waitpid(keeper->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    if (keeper->cgroup)
        cgroup_kill(keeper->cgroup);
    cgroup_discard(take_ptr(keeper->cgroup));
    keeper->pid = 0;
    keeper->state = KEEPER_DOWN;
}

static void fail(struct keeper *keeper, const struct error *err)
{
    LOG_EVENT(LOG_ERROR, "machine", {"message", error_message(err)},
              {"hint", err->hint, .is_left_out = !err->hint});
    error_done(&keeper->failure);
    error_copy(&keeper->failure, err);
    keeper->failure_ns = loop_now_ns();
    forget(keeper);
    if (keeper->on_end)
        keeper->on_end(keeper->user);
    refuse_all(keeper, err);
}

/* It was never up: with the same host and settings the next one will most likely not be either. */
static void fail_to_start(struct keeper *keeper, const struct error *why)
{
    uint64_t delay_ms = RETRY_MS;
    struct error err = {0};

    for (unsigned i = 0; i < keeper->n_failed && delay_ms < RETRY_MS_MAX; i++)
        delay_ms *= 2;
    if (delay_ms > RETRY_MS_MAX)
        delay_ms = RETRY_MS_MAX;
    keeper->n_failed++;
    keeper->retry_ns = loop_now_ns() + delay_ms * 1000000;
    error_copy(&err, why);
    err.code = E_UNSUPPORTED;
    error_wrap(&err, "the virtual machine of this server does not start");
    if (!err.hint)
        error_hint(&err, "run `belljar doctor` and `belljar machine build` on the server's host");
    fail(keeper, &err);
    error_done(&err);
}

static void end(struct keeper *keeper, const struct error *err)
{
    if (keeper->state == KEEPER_BOOTING)
        fail_to_start(keeper, err);
    else
        fail(keeper, err);
}

/* Until the next attempt. */
static bool is_too_early(struct keeper *keeper)
{
    uint64_t now = loop_now_ns();
    struct error err = {0};

    if (!keeper->n_failed || now >= keeper->retry_ns)
        return false;
    error_copy(&err, &keeper->failure);
    err.code = E_UNSUPPORTED;
    error_wrap(&err, "the next attempt is possible in %llu s",
               (unsigned long long)((keeper->retry_ns - now) / 1000000000 + 1));
    refuse_all(keeper, &err);
    error_done(&err);
    return true;
}

/* Its last words are bytes of a stranger, and printable. */
static void read_failure(const char *packet, size_t len, struct error *err)
{
    const char *newline = memchr(packet, '\n', len);
    size_t n = newline ? (size_t)(newline - packet) : len;

    error_set(err, E_SYSTEM, "%.*s", (int)(n < 300 ? n : 300), packet);
    if (newline && len > n + 1)
        error_hint(err, "%.*s", (int)(len - n - 1), newline + 1);
}

static void on_packet(void *arg)
{
    struct keeper *keeper = arg;
    cleanup_error struct error err = {0};
    char packet[MACHINE_PACKET_MAX];
    ssize_t n = recv(keeper->control, packet, sizeof(packet), MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0 && packet[0] == MACHINE_READY) {
        LOG_EVENT(LOG_INFO, "machine", {"message", "the virtual machine is up"});
        loop_timer_stop(keeper->patience);
        keeper->state = KEEPER_UP;
        keeper->up_ns = loop_now_ns();
        keeper->n_failed = 0;
        answer_all(keeper);
        return;
    }
    if (n > 1 && packet[0] == MACHINE_FAILED)
        read_failure(packet + 1, (size_t)n - 1, &err);
    else
        error_set(&err, E_SYSTEM, "the virtual machine has ended");
    end(keeper, &err);
}

static void on_patience(void *arg)
{
    cleanup_error struct error err = {0};

    error_set(&err, E_SYSTEM, "the virtual machine is not up after %d s",
              boot_ms(((struct keeper *)arg)->config) / 1000);
    end(arg, &err);
}

struct start {
    char **words;
    int control, config, log;
    const struct vm_grants *grants;
    int groups[CGROUP_ATTACH_MAX], n_groups;
};

/* In the child. */
static bool enter_groups(const struct start *start)
{
    for (int i = 0; i < start->n_groups; i++)
        if (write(start->groups[i], "0", 1) != 1)
            return false;
    return true;
}

/* Beyond all numbers that the machine is given. */
#define ASIDE 64

/* In the child: each of them gets its number. */
static bool pass_grants(const struct vm_grants *grants)
{
    int aside[MACHINE_GRANTS_MAX];
    size_t count = vm_grants_count(grants);

    for (size_t i = 0; i < count; i++)
        if ((aside[i] = fcntl(vm_grants_fd(grants, i), F_DUPFD, ASIDE)) < 0)
            return false;
    for (size_t i = 0; i < count; i++)
        if (dup2(aside[i], MACHINE_GRANTS + (int)i) < 0)
            return false;
    return syscall(SYS_close_range, (unsigned)(MACHINE_GRANTS + count), ~0U, 0U) == 0;
}

/* In the child, which shares our memory until it executes. */
static int become_machine(void *arg)
{
    static char *const environment[] = {"PATH=/usr/bin:/bin", NULL};
    const struct start *start = arg;
    int control = fcntl(start->control, F_DUPFD, ASIDE),
        config = fcntl(start->config, F_DUPFD, ASIDE);
    int log = fcntl(start->log, F_DUPFD, ASIDE), null = open("/dev/null", O_RDWR);

    child_reset_signals();
    if (!enter_groups(start) || control < 0 || config < 0 || log < 0 || null < 0 ||
        dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 ||
        dup2(control, MACHINE_CONTROL) < 0 || dup2(config, CONFIG_FD) < 0 ||
        dup2(log, MACHINE_LOG) < 0 || !pass_grants(start->grants) || setsid() < 0 ||
        chdir("/") < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        return 1;
    (void)execve(start->words[0], start->words, environment);
    return 1;
}

struct words {
    char *list[WORDS_MAX + 1];
    size_t n;
};

static void words_done(struct words *words)
{
    for (size_t i = 0; i < words->n; i++)
        free(words->list[i]);
}

static int add(struct words *words, const char *text, struct error *err)
{
    if (words->n == WORDS_MAX || !(words->list[words->n] = strdup(text)))
        return error_memory(err);
    words->n++;
    return 0;
}

static int add_number(struct words *words, const char *flag, int64_t number, struct error *err)
{
    char text[24];

    (void)snprintf(text, sizeof(text), "%lld", (long long)number);
    return add(words, flag, err) < 0 ? -1 : add(words, text, err);
}

/* Belljar's own files, where they are not in /usr. */
static int add_share(struct words *words, const char *directory, struct error *err)
{
    if (paths_below(directory, "/usr"))
        return 0;
    return add(words, "--share", err) < 0 ? -1 : add(words, directory, err);
}

static int own_program(char path[PATH_MAX], struct error *err)
{
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);

    if (n < 0)
        return error_errno(err, "find this program");
    path[n] = '\0';
    return 0;
}

static int add_grants(const struct keeper *keeper, const struct ns_ids *ids, struct words *words,
                      struct error *err)
{
    const char *path;

    for (size_t i = 0; i < vm_grants_count(keeper->grants); i++) {
        cleanup_free char *word = NULL;

        if (asprintf(&word, "%zu=%s", MACHINE_GRANTS + i, vm_grants_path(keeper->grants, i)) < 0) {
            word = NULL;
            return error_memory(err);
        }
        if (add(words, "--grant", err) < 0 || add(words, word, err) < 0)
            return -1;
    }
    for (size_t i = 0; (path = vm_grants_hidden(keeper->grants, i)); i++)
        if (add(words, "--hide", err) < 0 || add(words, path, err) < 0)
            return -1;
    if (geteuid() != 0)
        return 0;
    if (add(words, "--ids", err) < 0 || words->n == WORDS_MAX ||
        asprintf(&words->list[words->n], "%u:%u", ids->uid_base, ids->gid_base) < 0)
        return error_memory(err);
    words->n++;
    return 0;
}

static int add_all(const struct keeper *keeper, const struct ns_ids *ids, struct words *words,
                   struct error *err)
{
    cleanup_free char *profiles = paths_data("policies", err), *beside = NULL;
    const struct config *config = keeper->config;
    char program[PATH_MAX], copy[64];

    if (!profiles || own_program(program, err) < 0)
        return -1;
    beside = strndup(program, (size_t)(strrchr(program, '/') - program));
    if (!beside)
        return error_memory(err);
    (void)snprintf(copy, sizeof(copy), CONFIG_INSIDE "=/proc/self/fd/%d", CONFIG_FD);
    if (add(words, keeper->program, err) < 0 || add(words, "--log", err) < 0 ||
        (is_emulated(config) && add(words, "--emulate", err) < 0) ||
        add_number(words, "--memory", config->machine_memory_mb, err) < 0 ||
        add_number(words, "--cpus", config->machine_cpus, err) < 0 ||
        add(words, "--init", err) < 0 || add(words, keeper->init, err) < 0 ||
        add(words, "--share", err) < 0 || add(words, "/usr", err) < 0 ||
        add_share(words, profiles, err) < 0 || add_share(words, beside, err) < 0 ||
        (*config->policies_dir && (add_share(words, config->policies_dir, err) < 0)) ||
        add_grants(keeper, ids, words, err) < 0 || add(words, "--file", err) < 0 ||
        add(words, copy, err) < 0 || add(words, "--", err) < 0 || add(words, program, err) < 0 ||
        add(words, "serve", err) < 0 || add(words, "--inside-machine", err) < 0 ||
        add(words, "--no-auth", err) < 0 || add(words, "--config", err) < 0)
        return -1;
    return add(words, CONFIG_INSIDE, err);
}

/* The settings of the engine inside, as a file. */
static int make_settings(const struct config *config, const struct vm_grants *grants,
                         struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(MIB);
    cleanup_close int fd = memfd_create("settings", MFD_CLOEXEC);

    if (fd < 0)
        return error_errno(err, "memfd_create");
    if (vm_grants_setting(grants, &text, err) < 0 || inside_settings(config, &text, err) < 0)
        return -1;
    if (file_write_all(fd, text.data, text.len) < 0)
        return error_errno(err, "write the settings");
    return take_fd(fd);
}

/* Opens the directories that the machine is given, and chooses whose processes it has. */
static int choose_grants(struct keeper *keeper, struct ns_ids *ret_ids, struct error *err)
{
    vm_grants_free(keeper->grants);
    keeper->grants = NULL;
    return ns_pick_ids(ret_ids, err) < 0
               ? -1
               : vm_grants_open(keeper->config, ret_ids, &keeper->grants, err);
}

/* An attacker in QEMU or virtiofsd has the host's memory and processors as far as this. */
static int make_group(struct keeper *keeper, struct start *start, struct error *err)
{
    const struct config *config = keeper->config;
    const struct cgroup_limits limits = {
        .memory_bytes = ((uint64_t)config->machine_memory_mb << 20) +
                        (is_emulated(config) ? OVERHEAD_BYTES_EMULATED : OVERHEAD_BYTES),
        .processes = PROCESSES_MAX,
        .cpu_percent = (uint32_t)(config->machine_cpus + 1) * 100, /* one for all but the guest */
    };
    char name[48];

    if (!keeper->cgroups)
        return 0;
    (void)snprintf(name, sizeof(name), "machine-%llu", (unsigned long long)++keeper->n_cgroups);
    if (cgroup_new(keeper->cgroups, name, &limits, &keeper->cgroup, err) < 0)
        return -1;
    start->n_groups = cgroup_attach_fds(keeper->cgroup, start->groups, err);
    return start->n_groups < 0 ? -1 : 0;
}

static int boot(struct keeper *keeper, struct error *err)
{
    cleanup(words_done) struct words words = {0};
    cleanup_close int settings = -1, theirs = -1;
    struct start start = {.words = words.list};
    struct ns_ids ids;
    int pair[2];

    if (choose_grants(keeper, &ids, err) < 0 ||
        (settings = make_settings(keeper->config, keeper->grants, err)) < 0 ||
        add_all(keeper, &ids, &words, err) < 0 || vm_log_begin(keeper->log, err) < 0)
        return -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return error_errno(err, "socketpair");
    keeper->control = pair[0];
    start.control = theirs = pair[1];
    start.config = settings;
    start.log = vm_log_fd(keeper->log);
    start.grants = keeper->grants;
    if (make_group(keeper, &start, err) < 0)
        return -1;
    keeper->pid = child_vfork(0, become_machine, &start);
    for (int i = 0; i < start.n_groups; i++)
        (void)close(start.groups[i]);
    if (keeper->pid < 0)
        return error_errno(err, "start %s", keeper->program);
    vm_grants_close_mounts(keeper->grants);
    keeper->watch = loop_watch_fd(keeper->loop, keeper->control, LOOP_READ, on_packet, keeper);
    if (!keeper->watch)
        return error_memory(err);
    keeper->state = KEEPER_BOOTING;
    keeper->started_ns = loop_now_ns();
    keeper->n_starts++;
    loop_timer_start(keeper->patience, (uint64_t)boot_ms(keeper->config));
    LOG_EVENT(LOG_INFO, "machine", {"message", "starts a virtual machine"});
    return 0;
}

/* --- interface --- */

static void answer_or_boot(void *arg)
{
    struct keeper *keeper = arg;
    cleanup_error struct error err = {0};
    bool is_wanted = keeper->is_first || !TAILQ_EMPTY(&keeper->guests);

    keeper->is_first = false;
    if (keeper->state == KEEPER_DOWN && is_wanted && !is_too_early(keeper) &&
        boot(keeper, &err) < 0)
        fail_to_start(keeper, &err);
    answer_all(keeper);
}

void keeper_start(struct keeper *keeper)
{
    keeper->is_first = true;
    loop_work_post(keeper->loop, &keeper->answering, answer_or_boot, keeper);
}

void keeper_ask(struct keeper *keeper, struct keeper_guest *guest)
{
    guest->is_waiting = true;
    guest->number = ++keeper->n_asked;
    TAILQ_INSERT_TAIL(&keeper->guests, guest, link);
    loop_work_post(keeper->loop, &keeper->answering, answer_or_boot, keeper);
}

bool keeper_is_up(const struct keeper *keeper)
{
    return keeper->state == KEEPER_UP;
}

void keeper_on_end(struct keeper *keeper, void (*fn)(void *user), void *user)
{
    keeper->on_end = fn;
    keeper->user = user;
}

void keeper_leave(struct keeper *keeper, struct keeper_guest *guest)
{
    if (guest->is_waiting)
        TAILQ_REMOVE(&keeper->guests, guest, link);
    guest->is_waiting = false;
}

void keeper_end(struct keeper *keeper)
{
    cleanup_error struct error err = {0};

    if (keeper->state == KEEPER_DOWN)
        return;
    error_set(&err, E_SYSTEM, "the virtual machine did not answer in time, and was stopped");
    fail(keeper, &err);
}

bool keeper_stop(struct keeper *keeper)
{
    cleanup_error struct error err = {0};
    bool is_running = keeper->state != KEEPER_DOWN;

    keeper->n_failed = 0; /* the operator has mended something, perhaps */
    if (!is_running)
        return false;
    LOG_EVENT(LOG_INFO, "machine", {"message", "an operator stops the virtual machine"});
    error_set(&err, E_BUSY, "an operator has stopped the virtual machine");
    error_hint(&err, "the next run starts another one");
    forget(keeper);
    if (keeper->on_end)
        keeper->on_end(keeper->user);
    refuse_all(keeper, &err);
    return true;
}

int keeper_check_grants(const struct keeper *keeper, const struct run_terms *terms,
                        struct error *err)
{
    if (keeper->state == KEEPER_DOWN) /* the next machine is given what there is then */
        return 0;
    return vm_grants_check(keeper->grants, terms, err);
}

void keeper_facts(const struct keeper *keeper, struct keeper_facts *ret_facts)
{
    *ret_facts = (struct keeper_facts){
        .state = keeper->state,
        .is_emulated = is_emulated(keeper->config),
        .memory_mb = keeper->config->machine_memory_mb,
        .cpus = keeper->config->machine_cpus,
        .pid = keeper->pid,
        .n_runs = keeper->n_runs,
        .n_starts = keeper->n_starts,
        .failure = keeper->failure.code == E_NONE ? NULL : &keeper->failure,
        .failure_ns = keeper->failure_ns,
    };
    if (keeper->state == KEEPER_UP) {
        ret_facts->up_ns = keeper->up_ns;
        ret_facts->boot_ns = keeper->up_ns - keeper->started_ns;
    }
    if (keeper->state == KEEPER_DOWN && keeper->n_failed)
        ret_facts->retry_ns = keeper->retry_ns;
}

int keeper_log(const struct keeper *keeper, struct buf *out, struct error *err)
{
    return vm_log_text(keeper->log, out, err);
}

int keeper_new(struct loop *loop, const struct config *config, struct cgroup_host *cgroups,
               struct keeper **ret_keeper, struct error *err)
{
    struct keeper *keeper;

    if (machine_check(is_emulated(config), err) < 0)
        return error_wrap(err, "no virtual machine");
    keeper = calloc(1, sizeof(*keeper));
    if (!keeper)
        return error_memory(err);
    *keeper = (struct keeper){.loop = loop, .config = config, .cgroups = cgroups, .control = -1};
    TAILQ_INIT(&keeper->guests);
    keeper->program = paths_program("belljar-machine", err);
    keeper->init = paths_program("belljar-machine-init", err);
    keeper->patience = loop_timer(loop, on_patience, keeper);
    keeper->log = vm_log_new();
    if (!keeper->program || !keeper->init || !keeper->patience || !keeper->log) {
        keeper_free(keeper);
        return err->code == E_NONE ? error_memory(err) : -1;
    }
    *ret_keeper = keeper;
    return 0;
}

void keeper_free(struct keeper *keeper)
{
    if (!keeper)
        return;
    if (keeper->patience)
        forget(keeper);
    loop_work_cancel(&keeper->answering);
    loop_watch_free(keeper->patience);
    vm_log_free(keeper->log);
    vm_grants_free(keeper->grants);
    error_done(&keeper->failure);
    free(keeper->program);
    free(keeper->init);
    free(keeper);
}
