/* The recipe of the level `process`: Landlock, seccomp and resource limits, without namespaces.
 *
 * For hosts that give none, such as containers with the usual settings, and only where the operator
 * has chosen it. The files of the host are there, and Landlock decides which of them can be read;
 * what it does not know is refused by a filter of its own (tools/seccomp-table.h). The sandbox's
 * first process keeps the domain of the programs (sandbox/domain.h). docs/THREATS.md says what this
 * level does not cover.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sandbox/caps.h"
#include "sandbox/domain.h"
#include "sandbox/places.h"
#include "sandbox/recipe_internal.h"
#include "sandbox/seccomp.h"

/* Files of the host in place of a private root (sandbox/root.c): nothing that names its users,
 * its network or its other processes. */
static const struct landlock_path system_paths[] = {
    {"/usr", LANDLOCK_READ_EXEC},
    {"/bin", LANDLOCK_READ_EXEC},
    {"/sbin", LANDLOCK_READ_EXEC},
    {"/lib", LANDLOCK_READ_EXEC},
    {"/lib32", LANDLOCK_READ_EXEC},
    {"/lib64", LANDLOCK_READ_EXEC},
    {"/libx32", LANDLOCK_READ_EXEC},
    {"/etc/alternatives", LANDLOCK_READ},
    {"/etc/fonts", LANDLOCK_READ},
    {"/etc/ssl/certs", LANDLOCK_READ},
    {"/etc/ssl/openssl.cnf", LANDLOCK_READ}, /* node does not start if it may not read it */
    {"/etc/ld.so.cache", LANDLOCK_READ},
    {"/etc/localtime", LANDLOCK_READ},
    {"/etc/timezone", LANDLOCK_READ},
    {"/etc/mime.types", LANDLOCK_READ},
    {"/etc/services", LANDLOCK_READ},
    {"/etc/protocols", LANDLOCK_READ},
    {"/etc/matplotlibrc", LANDLOCK_READ},
    {"/etc/debian_version", LANDLOCK_READ},
    {"/etc/os-release", LANDLOCK_READ},
    {"/etc/magic", LANDLOCK_READ},
    {"/etc/inputrc", LANDLOCK_READ},
    {"/proc/cpuinfo", LANDLOCK_READ},
    {"/proc/filesystems", LANDLOCK_READ},
    {"/proc/loadavg", LANDLOCK_READ},
    {"/proc/meminfo", LANDLOCK_READ},
    {"/proc/stat", LANDLOCK_READ},
    {"/proc/swaps", LANDLOCK_READ},
    {"/proc/uptime", LANDLOCK_READ},
    {"/proc/version", LANDLOCK_READ},
    {"/proc/vmstat", LANDLOCK_READ},
    {"/dev/null", LANDLOCK_DEVICE},
    {"/dev/zero", LANDLOCK_DEVICE},
    {"/dev/full", LANDLOCK_DEVICE},
    {"/dev/random", LANDLOCK_DEVICE},
    {"/dev/urandom", LANDLOCK_DEVICE},
};

/* Of the environment. */
static char *shown[WIRE_STRINGS_MAX];
static size_t n_shown;

int recipe_process_show(struct span path, struct error *err)
{
    if (n_shown == ARRAY_SIZE(shown))
        return error_set(err, E_TOO_LARGE, "too many trees to show");
    shown[n_shown] = span_dup(path);
    return shown[n_shown++] ? 0 : error_memory(err);
}

int recipe_process_confine_zygote(const char *directory, struct error *err)
{
    /* It reads what the user may read: which trees a sandbox is granted is not known yet, and no
     * domain inside can have more than this one. */
    const struct landlock_path paths[] = {
        {"/", LANDLOCK_READ_EXEC},         {directory, LANDLOCK_WRITE_EXEC},
        {"/proc", LANDLOCK_WRITE}, /* sandboxes say there who ends first when memory does */
        {"/dev/null", LANDLOCK_DEVICE},    {"/dev/zero", LANDLOCK_DEVICE},
        {"/dev/full", LANDLOCK_DEVICE},    {"/dev/random", LANDLOCK_DEVICE},
        {"/dev/urandom", LANDLOCK_DEVICE},
    };

    if (caps_clear(err) < 0 || caps_no_new_privs(err) < 0)
        return -1;
    return domain_keep(paths, ARRAY_SIZE(paths), err);
}

/* Not SIGKILL: the first process ends the others before it goes. */
static int follow_zygote(struct recipe *r, struct error *err)
{
    pid_t zygote = getppid();
    char byte;

    if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0)
        return error_errno(err, "prctl");
    /* Says nothing where the zygote died before that call. */
    if (read(r->sync_fd, &byte, 1) != 1 || getppid() != zygote)
        return error_set(err, E_SYSTEM, "the zygote has ended");
    close_fd(&r->sync_fd);
    return 0;
}

/* Programs start in a granted directory where one was chosen, or in one of the workspace. */
static int enter_workdir(const struct wire_spawn *spec, struct error *err)
{
    static const char prefix[] = "/workspace";
    cleanup_free char *wanted = span_dup(spec->workdir);
    char path[2 * PATH_MAX];

    if (!wanted)
        return error_memory(err);
    if (!*wanted || strcmp(wanted, prefix) == 0)
        (void)snprintf(path, sizeof(path), "%s", places_workspace());
    else if (strncmp(wanted, prefix, strlen(prefix)) == 0 && wanted[strlen(prefix)] == '/')
        (void)snprintf(path, sizeof(path), "%s%s", places_workspace(), wanted + strlen(prefix));
    else
        (void)snprintf(path, sizeof(path), "%s", wanted);
    if (chdir(path) == 0 || (errno == EACCES && chdir(places_workspace()) == 0))
        return 0;
    error_errno(err, "start in `%s`", wanted);
    err->code = E_NOT_FOUND;
    return error_hint(err, "`workdir` names an existing directory in /workspace or in a granted "
                           "directory");
}

static int make_places(struct recipe *r, struct error *err)
{
    r->ptmx_fd = -1;
    if (places_make(r->directory, err) < 0)
        return -1;
    return enter_workdir(r->spec, err);
}

static int drop_privileges(struct recipe *r, struct error *err)
{
    if (geteuid() == 0)
        return error_set(err, E_INTERNAL, "this is root");
    if (caps_clear(err) < 0 || caps_no_new_privs(err) < 0)
        return -1;
    if (prctl(PR_SET_DUMPABLE, 0) < 0)
        return error_errno(err, "prctl");
    r->layers |= LAYER_CAPS | LAYER_NO_NEW_PRIVS;
    return 0;
}

static int keep_domain(struct recipe *r, struct error *err)
{
    struct landlock_path paths[ARRAY_SIZE(system_paths) + ARRAY_SIZE(shown) + WIRE_GRANTS_MAX + 2];
    char grants[WIRE_GRANTS_MAX][32];
    size_t count = ARRAY_SIZE(system_paths);

    memcpy(paths, system_paths, sizeof(system_paths));
    for (size_t i = 0; i < n_shown; i++)
        paths[count++] = (struct landlock_path){shown[i], LANDLOCK_READ_EXEC};
    /* By descriptor: that is the directory which was judged. */
    for (uint32_t i = 0; i < r->spec->n_grants; i++) {
        (void)snprintf(grants[i], sizeof(grants[i]), "/proc/self/fd/%d", r->grant_fds[i]);
        if (r->spec->grants[i].mode != WIRE_GRANT_RO || access(grants[i], F_OK) < 0)
            return error_set(err, E_PROTOCOL, "a grant that this level does not have");
        paths[count++] = (struct landlock_path){grants[i], LANDLOCK_READ_EXEC};
    }
    paths[count++] = (struct landlock_path){places_workspace(), LANDLOCK_WRITE_EXEC};
    paths[count++] = (struct landlock_path){places_tmp(), LANDLOCK_WRITE_EXEC};
    if (domain_keep(paths, count, err) < 0)
        return -1;
    for (uint32_t i = 0; i < r->spec->n_grants; i++)
        close_fd(&r->grant_fds[i]);
    r->layers |= LAYER_LANDLOCK;
    return 0;
}

static int filter_calls(struct recipe *r, struct error *err)
{
    if (recipe_filter_base(r, err) < 0 || seccomp_load(SECCOMP_PROCESS, err) < 0)
        return -1;
    if ((r->spec->flags & WIRE_SPAWN_NO_MEMFD) && seccomp_load(SECCOMP_NO_MEMFD, err) < 0)
        return -1;
    r->layers |= LAYER_SECCOMP;
    return 0;
}

static const struct recipe_step steps[] = {
    {"join the cgroup", recipe_join_cgroup}, {"follow the zygote", follow_zygote},
    {"make the directories", make_places},   {"set resource limits", recipe_set_rlimits},
    {"drop privileges", drop_privileges},    {"restrict paths and signals", keep_domain},
    {"filter system calls", filter_calls}, /* last: the steps above need calls it forbids */
};

int recipe_process_seal(struct recipe *r, struct error *err)
{
    return recipe_run(r, steps, ARRAY_SIZE(steps), err);
}
