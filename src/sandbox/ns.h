/* The zygote's own namespaces: who it is on the host, and how it gets there.
 *
 * Started as root, the zygote becomes root of a user namespace onto which a range of unprivileged
 * host ids is mapped, and every sandbox takes an id of its own from it: no host uid 0 exists below,
 * ever. Started by an ordinary user, that user is the whole range. Either way the rest of the
 * program is the same.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* Ids of the host that the zygote's namespace maps to 0..count-1. */
struct ns_ids {
    uint32_t uid_base;
    uint32_t gid_base;
    uint32_t count; /* 1: nothing but the caller himself */
};

struct ns_child {
    pid_t pid;
    int pidfd;
};

/* Ids of a new user namespace: `count` from `uid` on are those from `outside_uid` on outside. */
struct ns_map {
    uint32_t uid, outside_uid;
    uint32_t gid, outside_gid;
    uint32_t count;
    bool denies_setgroups; /* required before an ordinary user can map a group (Linux 3.19) */
};

/* For process `pid`, or for this one if it is 0; once. Does not allocate where `err` is NULL. */
int ns_write_map(pid_t pid, const struct ns_map *map, struct error *err);

/* The argument of a zygote that is_on_host. */
#define NS_ON_HOST "process"

/* Chooses the ids that this process may hand out. Fails if that would be host uid 0. */
int ns_pick_ids(struct ns_ids *ret_ids, struct error *err);

/* From here on: sandboxes of this process all have the user and group `id`, and their zygotes the
 * one before. For root. */
void ns_share_id(uint32_t id);

/* Chooses the user and group for a helper process that shall own nothing: `nobody` (65534) or, for
 * the root of a container with few ids, the last id below those of sandboxes. An ordinary user can
 * only be itself. */
int ns_pick_nobody(struct ns_ids *ret_ids, struct error *err);

/* The next sandbox's uid, as the zygote's namespace counts: 0 when there is only one. Counted for
 * the whole process, so that sandboxes of two zygotes do not share one. */
uint32_t ns_next_uid(const struct ns_ids *ids);

/* Exit codes of the child of ns_spawn_zygote() if it did not reach the program; it has no other way
 * to report. The program's own codes are 0 and 1. */
enum ns_exit {
    NS_EXIT_OPEN = 2, /* the program or its library cannot be opened */
    NS_EXIT_ORPHAN,   /* the supervisor has ended */
    NS_EXIT_IDS,      /* the ids cannot be taken on */
    NS_EXIT_PREPARE,  /* session, directory or descriptors */
    NS_EXIT_EXEC,
    NS_EXIT_LOADER = 127, /* of the dynamic loader: a library is missing */
};

/* In words, or NULL when the code is none of these. */
const char *ns_exit_reason(int code);

struct ns_program {
    const char *path;
    const char *steady; /* a library to load before all others, or NULL. With it the layout of
                           memory is the same in every process. */
    bool is_on_host;  /* the level `process`: no namespaces. It is told so by its argument, its ids
                         are the first of `ids`, and SIGTERM is its end in place of SIGKILL. */
    bool has_network; /* it keeps the host's, which costs less to start; only for a zygote that
                         imports nothing */
};

/* Clones into fresh namespaces and executes the program there with an empty descriptor table but
 * `sock` as number 3 and the library as number 4, and an environment of our making. The child dies
 * with its parent. */
int ns_spawn_zygote(const struct ns_program *program, int sock, const struct ns_ids *ids,
                    struct ns_child *ret_child, struct error *err);

/* A user namespace in which `disk_uid` is the host's `host_uid` (the same for gids), for an
 * idmapped mount. */
int ns_idmap_fd(uint32_t disk_uid, uint32_t host_uid, uint32_t disk_gid, uint32_t host_gid,
                int *ret_fd, struct error *err);

/* clone3(2) without a new stack; the child continues behind the call, as after fork(2). Sets the
 * cached thread id of the C library right, which a raw clone does not. Returns the pid, 0 in the
 * child, -1 with errno. */
pid_t ns_clone(uint64_t flags, int *ret_pidfd);
