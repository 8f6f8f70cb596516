/* The write broker, as both its sides see it.
 *
 * A directory that is granted for writing is mounted read-only in the sandbox. Calls that would
 * change something by a path (open for writing, mkdir, rename ...) are held by a seccomp filter
 * until `belljar-broker`, a process of its own for each sandbox, has judged and answered them. The
 * broker performs what it permits itself, on a writable mount that only it has. Without a broker,
 * or with one that does not answer, the program gets an error: the read-only mount is the wall.
 *
 * The supervisor starts the broker (engine/broker_client.h) and speaks to it over one socket that
 * keeps messages apart (SOCK_SEQPACKET). What happened during a run is in memory that both share,
 * so that an answer never waits for the broker.
 */
#pragma once

#include <stdint.h>

/* The number of the control socket in the broker. */
#define BROKER_CONTROL_FD 3

/* The first byte of a message says what it is; the rest is packed (wire/pack.h). */
enum broker_message {
    /* To the broker. SETUP: u32 uid, u32 gid (of the sandbox, on the host), u32 count and for each
     * grant its path and u32 1 when it is for writing, u32 count and for each of
     * Belljar's own places its path and u32 1 when it is hidden from programs, u32 count and for
     * each directory to lock (sandbox/tree_lock.h) u64 its offset and u32 1 when it is a root.
     * Descriptors: the report, the locks, the marks, one writable mount for each grant for writing.
     */
    BROKER_SETUP = 'S',
    /* Descriptors: the root of the sandbox, the listener of its filter. */
    BROKER_LISTEN = 'L',
    /* A run begins: u64 its number, u64 the most bytes and u64 the most changes that are kept for
     * undo, u64 the largest file it may make, u32 1 when a descriptor comes along: the directory
     * its changes are kept in. */
    BROKER_BEGIN = 'B',
    /* It is over: u32 1 when the sandbox ends with it. Its journal is then closed when no process
     * of the sandbox is left. */
    BROKER_END = 'E',

    /* From the broker. */
    BROKER_READY = 'R',  /* the directories were surveyed; calls are answered */
    BROKER_BEGUN = 'G',  /* u64: the run with that number may begin; the one before it is closed */
    BROKER_FAILED = 'F', /* u32 code, message, hint: it cannot work, and ends */
};

#define BROKER_MESSAGE_MAX 180000
#define BROKER_FDS_MAX     36

#define BROKER_DENIALS  16
#define BROKER_WHAT_MAX 512
#define BROKER_WHY_MAX  128

/* A call that was refused, and how often. */
struct broker_denial {
    uint32_t count;
    char what[BROKER_WHAT_MAX]; /* "create /p/.envrc" */
    char why[BROKER_WHY_MAX];
};

/* Events since the BROKER_BEGIN with that number. Written by the broker, read by the supervisor. */
struct broker_report {
    uint64_t run;
    uint64_t created, changed, removed, renamed;
    uint64_t cpu_ns; /* of the broker */
    uint32_t n_denials;
    uint32_t denials_more; /* refused and not listed */
    struct broker_denial denials[BROKER_DENIALS];
};
