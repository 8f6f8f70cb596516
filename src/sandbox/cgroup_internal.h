/* Private to cgroup*.c and its tests.
 *
 * A place is one directory of ours, `belljar-<pid>-<start time>`, in one hierarchy: v2 has one
 * place, v1 up to four, fewer where controllers are mounted together. The groups of sandboxes lie
 * directly below it.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "sandbox/cgroup.h"

enum cgroup_controller {
    CGROUP_MEMORY,
    CGROUP_PIDS,
    CGROUP_CPU,
    CGROUP_CPUACCT,
    CGROUP_CONTROLLERS,
};

#define CGROUP_BIT(controller) (1u << (controller))
#define CGROUP_NEEDED          (CGROUP_BIT(CGROUP_MEMORY) | CGROUP_BIT(CGROUP_PIDS))

/* "belljar-" + two numbers; the name of a group; a file of a group. */
#define CGROUP_DIR_MAX  64
#define CGROUP_NAME_MAX 64
#define CGROUP_PATH_MAX 128

/* v2: where the supervisor itself goes when its own group may hold nothing but groups. */
#define CGROUP_LEAF "supervisor"

struct cgroup_place {
    unsigned controllers; /* bits of enum cgroup_controller */
    char *mount;          /* mount point of the hierarchy */
    char *own;            /* the group this process was in when it started */
    char *parent;         /* where our directory is */
    int fd;               /* our directory, -1 while there is none */
};

/* Files of groups that stay open between two reads: four of each of 32 groups, and not so
 * many that descriptors become scarce. */
#define CGROUP_COUNTERS 128

/* Processes that a program stopped itself and that are left so: those beyond go on. */
#define CGROUP_STOPPED_MAX 32

struct cgroup_counter {
    const struct cgroup *group; /* NULL: the slot is empty */
    const char *file;
    int fd;
};

struct cgroup_host {
    enum cgroup_kind kind;
    char *reason; /* why CGROUP_NONE */
    char *path;   /* our directory, instead of the memory controller's */
    char name[CGROUP_DIR_MAX];

    struct cgroup_place places[CGROUP_ATTACH_MAX];
    size_t n_places;
    const struct cgroup_ops *ops;
    bool has_memsw;   /* v1 counts swap */
    bool has_moved;   /* v2: this process sits in our CGROUP_LEAF */
    unsigned enabled; /* v2: bits we added to the parent's subtree_control, to be taken back */

    struct cgroup_counter counters[CGROUP_COUNTERS];
    uint64_t made; /* groups so far */

    pid_t janitor;            /* 0: none */
    struct cgroup *discarded; /* could not be removed yet */
    struct cgroup *spare;     /* made ahead, or NULL */
};

struct cgroup {
    struct cgroup_host *host;
    struct cgroup *next; /* among the discarded */
    uint64_t number;
    char name[CGROUP_NAME_MAX];
    struct cgroup_limits limits; /* as they stand */
    bool is_limited;             /* `limits` has been written */
    uint64_t memory_peak_bytes;  /* highest sample, where Linux keeps none */
    bool is_frozen;
    pid_t stopped[CGROUP_STOPPED_MAX]; /* before it was frozen */
    size_t n_stopped;
};

struct cgroup_ops {
    /* Prepares our directories, which exist and are open. Returns 0, or -1 with host->reason set.
     */
    int (*prepare)(struct cgroup_host *host);
    int (*set_limits)(struct cgroup *group, const struct cgroup_limits *limits, struct error *err);
    int (*read)(struct cgroup *group, unsigned questions, struct cgroup_usage *usage,
                struct error *err);
    const char *attach_file;
};

extern const struct cgroup_ops cgroup_v1_ops;
extern const struct cgroup_ops cgroup_v2_ops;

/* Like cgroup_host_open(), with the files `mountinfo` and `cgroup` of another directory than
 * /proc/self. */
int cgroup_host_open_at(const char *proc, struct cgroup_host **ret_host, struct error *err);

/* --- cgroup_probe.c --- */

/* Finds the kind and its places (mount, own, controllers) from the mount table; CGROUP_NONE sets
 * the reason. */
int cgroup_probe(const char *proc, struct cgroup_host *host, struct error *err);

/* --- cgroup_v2.c --- */

/* Chooses place->parent: the group of this process, if we may divide it, or the nearest one above.
 * -1 with the reason. */
int cgroup_v2_choose_parent(struct cgroup_host *host);

/* Takes back what prepare() did to the groups above and moves the calling process out of our leaf.
 */
void cgroup_v2_leave(struct cgroup_host *host);

/* --- cgroup_sweep.c --- */

/* Kills everything in the group `name` of a place. */
void cgroup_kill_at(int dirfd, const char *name);

/* Kills all but one process, by list. */
void cgroup_kill_others_at(int dirfd, const char *name, pid_t spared);

/* Removes the groups in our directories and the directories, killing what is inside, for up to 5 s.
 */
void cgroup_clear(struct cgroup_host *host);

/* Removes the directories of supervisors that no longer live, next to where ours will be. */
void cgroup_sweep_stale(const char *parent);

/* "belljar-<pid>-<start time>" of this process. Returns 0 or -1. */
int cgroup_own_name(char name[CGROUP_DIR_MAX]);

int cgroup_janitor_start(struct cgroup_host *host, struct error *err);
void cgroup_janitor_stop(struct cgroup_host *host);

/* --- helpers, in cgroup.c --- */

void cgroup_set_reason(struct cgroup_host *host, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* -1 where the controller has no place. */
int cgroup_place_fd(const struct cgroup_host *host, enum cgroup_controller controller);

/* Writes "<value>" into `<group>/<file>`. */
int cgroup_write(const struct cgroup *group, enum cgroup_controller controller, const char *file,
                 const char *value, struct error *err);
int cgroup_write_u64(const struct cgroup *group, enum cgroup_controller controller,
                     const char *file, uint64_t value, struct error *err);

/* --- cgroup_counter.c --- */

/* Closes what is still open of the group's files, or of all groups'. */
void cgroup_forget_counters(struct cgroup_host *host, const struct cgroup *group);

/* The number in `<group>/<file>`, or behind `key` in it; a file or key that is not there leaves
 * *value alone. Returns 0 or -errno. `file` is a literal. */
int cgroup_read_u64(const struct cgroup *group, enum cgroup_controller controller, const char *file,
                    const char *key, uint64_t *value);
