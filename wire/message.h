/* The messages between supervisor, zygote, init and kernel: who may send what, when, how large and how often.
 *
 * Three channels, each a stream socket of its own:
 *
 *     zygote   supervisor <-> belljar-zygote     one per zygote
 *     init     supervisor <-> pid 1              one per sandbox
 *     kernel   supervisor <-> python or bash     one per kernel; hostile from WIRE_STARTED on
 *
 * A frame is {magic, version, type, length} and `length` bytes (wire/frame.h). What a peer may send depends on its
 * state; wire_permitted() is the table. Anything else ends that sandbox, never the supervisor.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/pack.h"

#define WIRE_VERSION 1

enum wire_type {
    /* supervisor -> zygote */
    WIRE_SETUP = 1, /* struct wire_setup: the environment to warm up */
    WIRE_SPAWN,     /* struct wire_spawn + descriptors: make one sandbox */
    /* zygote -> supervisor */
    WIRE_READY,        /* struct wire_ready: warm, and what could not be imported */
    WIRE_SPAWNED,      /* u64 id + a pidfd */
    WIRE_SPAWN_FAILED, /* u64 id, struct wire_failure */
    WIRE_GONE,         /* u64 id, u32 wait status: pid 1 of that sandbox was reaped */
    /* init -> supervisor */
    WIRE_SEALED, /* u32 layers: every step was applied */
    WIRE_FAILED, /* struct wire_failure: a step could not be applied; also zygote -> supervisor for its own */
    WIRE_EXITED, /* struct wire_exited: the kernel process ended */
    /* supervisor -> kernel */
    WIRE_RUN, /* struct wire_run (+ a descriptor for stdin) */
    /* kernel -> supervisor */
    WIRE_WAITING,   /* ready for code */
    WIRE_REFUSED,   /* violations: nothing ran */
    WIRE_STARTED,   /* the next instruction is the program's */
    WIRE_RESULT,    /* text, json: value of `result` or of the last expression */
    WIRE_EXCEPTION, /* struct wire_exception */
    WIRE_TYPE_END
};

/* The walls. A sandbox reports the ones that stand; a profile names the ones it insists on. */
#define WIRE_LAYERS(X)                                                                             \
    X(LAYER_USER_NS, "user-namespace")                                                             \
    X(LAYER_MOUNT_NS, "mount-namespace")                                                           \
    X(LAYER_PID_NS, "pid-namespace")                                                               \
    X(LAYER_NET_NS, "network-namespace")                                                           \
    X(LAYER_IPC_NS, "ipc-namespace")                                                               \
    X(LAYER_UTS_NS, "uts-namespace")                                                               \
    X(LAYER_CGROUP_NS, "cgroup-namespace")                                                         \
    X(LAYER_TIME_NS, "time-namespace")                                                             \
    X(LAYER_ROOT, "private-root")                                                                  \
    X(LAYER_PROC, "masked-proc")                                                                   \
    X(LAYER_CAPS, "no-capabilities")                                                               \
    X(LAYER_NO_NEW_PRIVS, "no-new-privileges")                                                     \
    X(LAYER_LANDLOCK, "landlock")                                                                  \
    X(LAYER_SECCOMP, "seccomp")                                                                    \
    X(LAYER_CGROUP_V2, "cgroup-v2")                                                                \
    X(LAYER_CGROUP_V1, "cgroup-v1")                                                                \
    X(LAYER_RLIMITS, "rlimits")                                                                    \
    X(LAYER_NO_EXEC, "no-new-processes")

enum wire_layer_index {
#define X(layer, name) layer##_INDEX,
    WIRE_LAYERS(X)
#undef X
    WIRE_LAYER_COUNT
};

enum wire_layer {
#define X(layer, name) layer = 1u << layer##_INDEX,
    WIRE_LAYERS(X)
#undef X
};

const char *wire_layer_name(unsigned index);
