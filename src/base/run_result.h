/* The result of a run: what the supervisor knows of it, and what the program said, masked. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/limits.h"

struct overlays;        /* sandbox/overlay.h */
struct spool;           /* base/spool.h */
struct spool_directory; /* base/spool.h */

/*        status                 wire name          CLI exit (-1: the program's own) */
#define RUN_STATUSES(X)                                                                            \
    X(RUN_SUCCESS, "success", 0)                                                                   \
    X(RUN_ERROR, "error", -1)                                                                      \
    X(RUN_TIMEOUT, "timeout", 124)                                                                 \
    X(RUN_MEMORY_EXCEEDED, "memory_exceeded", 137)                                                 \
    X(RUN_REFUSED, "refused", 126)                                                                 \
    X(RUN_CANCELLED, "cancelled", 130)

enum run_status {
#define X(status, name, exit) status,
    RUN_STATUSES(X)
#undef X
};

/* The fate of the session's variables in a cell. */
enum run_state {
    RUN_STATE_NONE,
    RUN_STATE_KEPT,
    RUN_STATE_LOST,
    RUN_STATE_FRESH, /* its own are kept; those of earlier cells were lost before it began */
};

/* The secrets that were masked: how many, and of which kinds, whose names live as long as the
 * program. */
#define RUN_MASKED_KINDS 64

struct run_masked {
    uint64_t count;
    const char *kinds[RUN_MASKED_KINDS];
    size_t n_kinds;
};

struct run_violation {
    char *rule; /* "import", "builtin", "attribute", "syntax", ... */
    char *name;
    uint32_t line;
    uint32_t column; /* 1-based, in characters; 0: unknown */
    char *message;
    char *hint; /* or NULL */
};

/* A host that the program asked for in vain. */
struct run_refusal {
    char *host; /* masked; "": it named none */
    uint16_t port;
    char *why;
    char *grant; /* what would allow it, or NULL */
};

/* Connections to granted hosts. */
struct run_traffic {
    uint64_t connections, sent, received;
    struct run_refusal refused[LIMIT_NET_REFUSED];
    size_t n_refused;
    uint64_t refused_more; /* not listed; repetitions are not counted */
};

/* Something that was refused while the program ran, in Belljar's words: what the supervisor knows,
 * never what the program says. */
struct run_denial {
    char *what;  /* "connect to example.org:443" */
    char *layer; /* who refused it: "network gate", "write grant", "process limit" */
    char *hint;  /* what would allow it, or NULL */
    uint64_t count;
    bool is_clean; /* the texts have been masked and cut */
};

/* The status of the run says these two as well. */
#define RUN_LAYER_TIME   "time limit"
#define RUN_LAYER_MEMORY "memory limit"

/* A host that was granted and not reached: nothing of ours has refused it. */
#define RUN_LAYER_NETWORK "network"

#define RUN_LAYER_NETWORK_GATE "network gate"
#define RUN_LAYER_WRITE        "write grant"
#define RUN_LAYER_CALL         "call grant"
#define RUN_LAYER_FILTER       "system call filter"
#define RUN_LAYER_PROCESSES    "process limit"
#define RUN_LAYER_DISK         "disk limit"
#define RUN_LAYER_FILE_SIZE    "file size limit"
#define RUN_LAYER_OUTPUT       "output budget"
#define RUN_LAYER_DIRECTORIES  "directory grants"

/* The program's own report of its end. It is text for people; no status is ever derived from it.
 */
struct run_exception {
    char *name; /* NULL: there was none */
    char *message;
    char *traceback;
    uint32_t line;
    char *hint;
    bool is_ours; /* said by the supervisor; otherwise name and message are the program's words */
    uint32_t column; /* 0: not known */
};

/* One form of a thing the program showed: bytes, and what they claim to be. The bytes are the
 * program's and may be anything. */
struct run_form {
    char *mime; /* "image/png"; checked to look like one */
    char *data; /* a NUL that does not count follows */
    size_t len;
};

/* One thing the program showed, in one or several forms. */
struct run_display {
    struct run_form *forms;
    size_t n_forms;
    char *metadata; /* JSON of the program's, or NULL */
};

struct run_usage {
    double wall_ms;  /* from the code's hand-over to its end */
    double start_ms; /* from the submission to the hand-over: what the sandbox cost */
    double cpu_ms;
    uint64_t memory_peak_bytes;
    uint32_t processes_peak;
};

/* A file whose path matched a pattern, as it was at the end; the program's bytes. */
struct run_collected {
    char *path; /* masked */
    uint64_t size;
    char *data; /* NULL: there was no room for it */
    size_t len; /* differs from the size where a text was masked */
};

enum run_file_change { RUN_FILE_NEW, RUN_FILE_CHANGED, RUN_FILE_GONE };

/* A file in /workspace that the run left otherwise than it found it. */
struct run_file {
    char *path; /* from /workspace on; the program's bytes, masked */
    uint64_t size;
    enum run_file_change change;
    bool is_masked; /* no file has this path */
};

/* Head and tail of one stream; the middle is dropped past the limit and counted. */
struct run_stream {
    struct buf head;
    struct buf tail;
    size_t tail_start; /* where the ring of the tail begins */
    uint64_t total;    /* bytes the program wrote */
    uint64_t dropped;  /* bytes missing between head and tail */
    size_t limit;
    struct spool_directory
        *spools;         /* where the whole is kept once bytes are missing; NULL: nowhere */
    uint64_t *spooled;   /* what its owner keeps there, or NULL */
    struct spool *spool; /* the whole, or as much as fits; NULL: head and tail are all */
};

/* Numbers of changes that a run made in directories granted for writing. A file that was opened for
 * writing counts as changed. */
struct run_changes {
    bool is_known; /* false: no directory was granted for writing */
    bool has_undo; /* `belljar undo` can take it back */
    uint64_t created, changed, removed, renamed;
};

struct run_result {
    struct error error; /* code != E_NONE: Belljar itself failed and nothing below holds */
    enum run_status status;
    enum run_state state; /* of a cell; RUN_STATE_NONE: the run has a sandbox of its own */
    int exit_code;
    int signal;
    struct run_stream out;
    struct run_stream err;
    char *directory;  /* of a cell: where its kernel is now, unless that is where it started */
    char *value_text; /* value of `result` or of the last expression, or NULL */
    char *value_json; /* the same as JSON where it is plain data, or NULL */
    struct run_display *displays; /* in order, within LIMIT_DISPLAYS and LIMIT_DISPLAY_BYTES */
    size_t n_displays;
    size_t display_bytes;
    uint32_t displays_more; /* shown beyond the limits and not kept */
    uint64_t n_progress;    /* reports so far */
    struct run_exception exception;
    char *hint; /* of a failure without an exception, or NULL */
    struct run_violation *violations;
    size_t n_violations;
    uint32_t violations_more; /* found and not listed */
    struct run_file *files;   /* by path */
    size_t n_files;
    bool has_more_files;             /* than are listed, or than could be looked at */
    struct run_collected *collected; /* by path */
    size_t n_collected;
    size_t collected_bytes;
    bool has_more_collected; /* than there was room for, or than could be looked at */
    struct overlays *cow;    /* with keeps_overlays: whoever asked frees it (sandbox/overlay.h) */
    struct run_masked masked;
    struct run_traffic *traffic; /* NULL: no host is granted */
    struct run_changes changes;  /* in directories granted for writing */
    struct run_denial *denials;  /* in order, up to LIMIT_DENIALS */
    size_t n_denials;
    uint64_t denials_more; /* not listed */
    struct run_usage usage;
    bool has_finished;   /* the program says that it came to its end, whatever the status is */
    double interrupt_ms; /* from the interrupt to the end of the cell; 0: there was none */
    uint32_t interrupt_grace_ms; /* how long that might have taken */
    uint64_t started_ns, handed_ns, ended_ns;
    uint64_t server_cpu_ns; /* CPU time of the supervisor that it took, beside usage.cpu_ms */
    char fingerprint[65]; /* with a seed: what else its output depends on (engine/fingerprint.h) */
    uint32_t layers;      /* bit set of enum wire_layer: what stood around the code */
    bool is_emulated;     /* its virtual machine has no KVM */
    char *receipt;        /* JSON, signed (audit/receipt.h), or NULL */
    char code_sha256[65]; /* of the program as it came; "": it is not recorded */
};
