#include "base/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/share.h"

#define ANSWER_BYTES 4096

/* Lookups of one owner, which wait for each other. It lives as long as it has lookups. */
struct line {
    struct line *next;
    const void *owner;
    const void *group; /* of lines that have one share, or NULL: the line has no group */
    size_t count, n_running;
    uint64_t served; /* when one of them last had its turn: a number that grows */
};

struct lookup {
    struct lookup *next; /* in the list of all, in order */
    struct line *line;
    struct resolver *resolver;
    char *name;
    resolve_fn fn; /* NULL: nobody waits */
    void *user;
    pid_t pid; /* 0: it waits for its turn */
    int pidfd, answer;
    struct loop_watch *end, *reader, *timer;
    char text[ANSWER_BYTES + 1];
    size_t len;
    bool is_late;
};

struct resolver {
    struct loop *loop;
    const char *program;
    struct lookup *all;
    struct line *lines;
    size_t n_running;
    uint64_t turns;
};

struct resolver *resolver_new(struct loop *loop, const char *program, struct error *err)
{
    struct resolver *resolver = calloc(1, sizeof(*resolver));

    if (resolver)
        *resolver = (struct resolver){.loop = loop, .program = program};
    else
        error_memory(err);
    return resolver;
}

static void unlink_lookup(struct lookup *l)
{
    for (struct lookup **at = &l->resolver->all; *at; at = &(*at)->next)
        if (*at == l) {
            *at = l->next;
            return;
        }
}

/* --- whose turn it is --- */

static struct line *join_line(struct resolver *resolver, const void *owner, const void *group)
{
    struct line *line = resolver->lines;

    while (line && (line->owner != owner || line->group != group))
        line = line->next;
    if (!line) {
        line = calloc(1, sizeof(*line));
        if (!line)
            return NULL;
        *line = (struct line){.next = resolver->lines, .owner = owner, .group = group};
        resolver->lines = line;
    }
    line->count++;
    return line;
}

static void leave_line(struct resolver *resolver, struct line *line)
{
    if (!line || --line->count > 0)
        return;
    for (struct line **at = &resolver->lines; *at; at = &(*at)->next)
        if (*at == line) {
            *at = line->next;
            break;
        }
    free(line);
}

/* However many lines a group has, another one finds a place. */
static bool has_share(const struct resolver *resolver, const struct line *line)
{
    struct share share = {
        .total = LIMIT_NET_LOOKUPS, .used = resolver->n_running, .has_others = true};

    if (!line->group)
        return true;
    for (const struct line *at = resolver->lines; at; at = at->next)
        if (at->group == line->group)
            share.own += at->n_running;
    return share_allows(&share, 1);
}

/* Of each line the oldest, and of all lines the one that was served longest ago: whoever asks a
 * thousand times waits for himself. */
static struct lookup *find_next(const struct resolver *resolver)
{
    struct lookup *next = NULL;

    for (struct lookup *l = resolver->all; l && resolver->n_running < LIMIT_NET_LOOKUPS;
         l = l->next)
        if (!l->pid && l->line->n_running < LIMIT_NET_LOOKUPS_EACH &&
            (!next || l->line->served < next->line->served) && has_share(resolver, l->line))
            next = l;
    return next;
}

static void free_lookup(struct lookup *l)
{
    unlink_lookup(l);
    loop_watch_free(l->end);
    loop_watch_free(l->reader);
    loop_watch_free(l->timer);
    close_fd(&l->pidfd);
    close_fd(&l->answer);
    if (l->pid > 0) {
        l->resolver->n_running--;
        l->line->n_running--;
        (void)kill(-l->pid, SIGKILL);
        (void)waitpid(l->pid, NULL, 0); /* dead already, but for the end of the whole program */
    }
    leave_line(l->resolver, l->line);
    free(l->name);
    free(l);
}

/* --- what it says --- */

static size_t read_addresses(struct lookup *l, struct address *addresses)
{
    size_t count = 0;
    char *at = l->text, *line;

    l->text[l->len] = '\0';
    while ((line = strsep(&at, "\n")) && count < RESOLVE_MAX) {
        struct host host;

        if (!*line)
            continue;
        /* One that we cannot read is one that we cannot judge: none of them counts. */
        if (host_parse(line, strlen(line), false, &host) || !host.is_address)
            return 0;
        addresses[count++] = host.address;
    }
    return count;
}

static void start_waiting(const struct resolver *resolver);

static void answer(struct lookup *l, const char *why)
{
    struct address addresses[RESOLVE_MAX];
    size_t count = why ? 0 : read_addresses(l, addresses);
    struct resolver *resolver = l->resolver;
    resolve_fn fn = l->fn;
    void *user = l->user;

    free_lookup(l);
    if (fn)
        fn(user, addresses, count, count ? NULL : why ? why : "no address is known for the name");
    start_waiting(resolver);
}

/* False: nothing more is there now. */
static bool take_part(struct lookup *l)
{
    ssize_t n = read(l->answer, l->text + l->len, ANSWER_BYTES - l->len);

    if (n > 0)
        l->len += (size_t)n;
    if (n > 0 || (n < 0 && errno == EINTR))
        return true;
    if (n < 0 && errno == EAGAIN)
        return false;
    loop_watch_free(l->reader); /* the end, or more than anybody's addresses take */
    l->reader = NULL;
    return false;
}

static void on_answer(void *arg)
{
    (void)take_part(arg);
}

static void on_end(void *arg)
{
    struct lookup *l = arg;

    /* Not until its end: what the program has started may keep it open for long. */
    while (take_part(l))
        ;
    answer(l, l->is_late ? "the name was not resolved in time" : NULL);
}

static void on_late(void *arg)
{
    struct lookup *l = arg;

    l->is_late = true;
    (void)kill(-l->pid, SIGKILL);
}

/* --- its process --- */

static int spawn(struct lookup *l, int theirs)
{
    const char *program = l->resolver->program;
    bool is_ours = !*program;
    char *const ours_argv[] = {(char *)"belljar", (char *)"--resolve", l->name, NULL};
    char *const argv[] = {(char *)program, l->name, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, all_signals;
    int r;

    (void)sigemptyset(&none);
    (void)sigfillset(&all_signals);
    if (posix_spawn_file_actions_init(&files) != 0)
        return -1;
    if (posix_spawnattr_init(&attributes) != 0) {
        (void)posix_spawn_file_actions_destroy(&files);
        return -1;
    }
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                    POSIX_SPAWN_SETPGROUP);
    (void)posix_spawnattr_setpgroup(&attributes, 0); /* of its own, which ends as a whole */
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setsigdefault(&attributes, &all_signals);
    r = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    r = r ? r : posix_spawn_file_actions_adddup2(&files, theirs, 1);
    r = r ? r : posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    r = r ? r
          : posix_spawn(&l->pid, is_ours ? "/proc/self/exe" : program, &files, &attributes,
                        is_ours ? ours_argv : argv, environ);
    (void)posix_spawn_file_actions_destroy(&files);
    (void)posix_spawnattr_destroy(&attributes);
    if (r)
        l->pid = 0;
    return r ? -1 : 0;
}

static int begin(struct lookup *l)
{
    cleanup_close int theirs = -1;
    int pair[2];

    if (pipe2(pair, O_CLOEXEC) < 0)
        return -1;
    l->answer = pair[0];
    theirs = pair[1];
    if (fcntl(pair[0], F_SETFL, O_NONBLOCK) < 0 || spawn(l, theirs) < 0)
        return -1;
    l->resolver->n_running++;
    l->line->n_running++;
    l->pidfd = (int)syscall(SYS_pidfd_open, l->pid, 0); /* Linux 5.3 */
    if (l->pidfd < 0)
        return -1;
    l->end = loop_watch_fd(l->resolver->loop, l->pidfd, LOOP_READ, on_end, l);
    l->reader = loop_watch_fd(l->resolver->loop, l->answer, LOOP_READ, on_answer, l);
    if (!l->end || !l->reader)
        return -1;
    loop_timer_start(l->timer, LIMIT_NET_LOOKUP_S * UINT64_C(1000));
    return 0;
}

/* The timer of one that waits is for all that do. Each look is at the lists as they are then: an
 * answer may have freed or added any. */
static void on_timer(void *arg)
{
    struct lookup *l = arg;
    struct resolver *resolver = l->resolver;

    if (l->pid) {
        on_late(l);
        return;
    }
    while ((l = find_next(resolver))) {
        l->line->served = ++resolver->turns;
        if (begin(l) < 0)
            answer(l, "the resolver could not be started");
    }
}

/* From the loop: an answer never comes from within the call that asked. */
static void start_waiting(const struct resolver *resolver)
{
    struct lookup *next = find_next(resolver);

    if (next)
        loop_timer_start(next->timer, 0);
}

struct lookup *resolve_start(struct resolver *resolver, const void *owner, const void *group,
                             const char *name, resolve_fn fn, void *user)
{
    struct lookup *l = calloc(1, sizeof(*l)), **at = &resolver->all;

    if (!l)
        return NULL;
    *l = (struct lookup){.resolver = resolver, .fn = fn, .user = user, .pidfd = -1, .answer = -1};
    l->name = strdup(name);
    l->timer = loop_timer(resolver->loop, on_timer, l);
    l->line = join_line(resolver, owner, group);
    if (!l->name || !l->timer || !l->line) {
        free_lookup(l);
        return NULL;
    }
    while (*at)
        at = &(*at)->next;
    *at = l;
    start_waiting(resolver);
    return l;
}

void resolve_cancel(struct lookup *l)
{
    struct resolver *resolver = l->resolver;

    l->fn = NULL;
    if (l->pid) {
        (void)kill(-l->pid, SIGKILL); /* on_end() follows */
        return;
    }
    free_lookup(l);
    start_waiting(resolver); /* the timer was perhaps the one for all */
}

void resolver_free(struct resolver *resolver)
{
    while (resolver && resolver->all)
        free_lookup(resolver->all);
    free(resolver);
}

/* --- a lookup that is waited for --- */

struct waiting {
    struct loop *loop;
    struct address *addresses;
    size_t count;
    const char *why;
};

static void on_waited(void *user, const struct address *addresses, size_t count, const char *why)
{
    struct waiting *w = user;

    if (count)
        memcpy(w->addresses, addresses, count * sizeof(*addresses));
    w->count = count;
    w->why = why;
    loop_stop(w->loop);
}

static int look_up(const char *program, const char *name, struct waiting *w, struct error *err)
{
    struct resolver *resolver;
    int r = -1;

    w->loop = loop_new(err);
    if (!w->loop)
        return -1;
    resolver = resolver_new(w->loop, program, err);
    if (!resolver || !resolve_start(resolver, w, NULL, name, on_waited, w))
        error_memory(err);
    else
        r = loop_run(w->loop, err);
    resolver_free(resolver);
    loop_free(w->loop);
    return r;
}

int resolve_wait(const char *program, const struct host *host,
                 struct address addresses[static RESOLVE_MAX], size_t *ret_count, struct error *err)
{
    struct waiting w = {.addresses = addresses};

    if (host->is_address || host_is_loopback(host)) {
        *ret_count = host->is_address ? 1 : ARRAY_SIZE(address_localhost);
        memcpy(addresses, host->is_address ? &host->address : address_localhost,
               *ret_count * sizeof(*addresses));
        return 0;
    }
    if (look_up(program, host->name, &w, err) < 0)
        return -1;
    if (!w.count) {
        error_set(err, E_NOT_FOUND, "there is no host `%s`: %s", host->name, w.why);
        return error_hint(err, "check the address and this machine's network");
    }
    *ret_count = w.count;
    return 0;
}
