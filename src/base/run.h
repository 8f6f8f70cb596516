/* struct run: the thing that travels. Read this file first.
 *
 * A door (src/cli, src/api, src/mcp, src/compat) fills the request part and calls pool_submit().
 * The pool finds a sandbox, the sandbox runs the code, and `on_done` is called exactly once with
 * the result part filled. Everything a run owns dies in run_free().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clean.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/run_limits.h"
#include "base/sha256.h"
#include "wire/message.h"
#include "wire/pack.h"

struct approval;      /* calls/approval.h */
struct box;           /* engine/box.h */
struct layers;        /* sandbox/layer.h */
struct net;           /* base/net.h */
struct zygote_client; /* engine/zygote_client.h */
struct pseudonyms;    /* mask/pseudonyms.h */
struct masks;         /* engine/masking.h */
struct store;         /* store/store.h */
struct shared;        /* base/shared.h */
struct spool;         /* base/spool.h */
struct spool_store;   /* base/spool.h */

enum run_language { RUN_PYTHON, RUN_BASH };

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

/* What a cell left of its session's variables. */
enum run_state {
    RUN_STATE_NONE,
    RUN_STATE_KEPT,
    RUN_STATE_LOST,
    RUN_STATE_FRESH, /* its own are kept; those of earlier cells were lost before it began */
};

/* What is put behind labels in everything a run gives out (mask/masker.h). */
enum run_masking { RUN_MASK_NOTHING, RUN_MASK_SECRETS, RUN_MASK_ALL, RUN_MASK_COUNT };

/* What was: how often, and which kinds, which are names that live as long as the program. */
#define RUN_MASKED_KINDS 64

struct run_masked {
    uint64_t count;
    const char *kinds[RUN_MASKED_KINDS];
    size_t n_kinds;
};

/* COW: the program sees and changes it, and nothing is on the disk until somebody says so
 * (sandbox/layer.h). */
enum run_grant_mode { RUN_GRANT_RO, RUN_GRANT_RW, RUN_GRANT_COW };

struct run_grant {
    char *path; /* absolute, without symlinks: the place inside is the place outside */
    int fd;     /* O_PATH directory, opened once */
    enum run_grant_mode mode;
};

/* What a program may ask of the outside (calls/call.h): a word in profiles each. */
#define RUN_REACHES(X)                                                                             \
    X(RUN_REACH_STATE, "state")     /* refactoring sessions of its owner */                        \
    X(RUN_REACH_SKILLS, "skills")   /* skills of its owner */                                      \
    X(RUN_REACH_SERVERS, "servers") /* tools of other MCP servers */

enum run_reach_index {
#define X(reach, name) reach##_INDEX,
    RUN_REACHES(X)
#undef X
        RUN_REACH_COUNT
};

enum run_reach {
#define X(reach, name) reach = 1u << reach##_INDEX,
    RUN_REACHES(X)
#undef X
};

/* Whose things a program keeps, and finds: never what it says itself. */
#define RUN_KEEPER_MAX 72

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

/* What the program said of its own end. It is text for people; no status is ever derived from it.
 */
struct run_exception {
    char *name; /* NULL: there was none */
    char *message;
    char *traceback;
    uint32_t line;
    char *hint;
    bool is_ours; /* said by the supervisor; otherwise name and message are the program's words */
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

enum run_event_kind {
    RUN_EVENT_STDOUT,
    RUN_EVENT_STDERR,
    RUN_EVENT_DISPLAY,
    RUN_EVENT_PROGRESS,
    RUN_EVENT_APPROVAL, /* somebody is asked (calls/approval.h) */
};

/* Something that happened just now. What it points to is only lent. */
struct run_event {
    enum run_event_kind kind;
    uint64_t offset;  /* of a stream: of its first byte in all that was written; else how many of
                         this kind came before */
    const char *data; /* of a stream: the bytes; of progress: the text */
    size_t len;
    const struct run_display *display;
    const struct approval *approval;
    uint64_t done, total; /* of progress; a total of 0 is unknown */
};

struct run_usage {
    double wall_ms;  /* from the code's hand-over to its end */
    double start_ms; /* from the submission to the hand-over: what the sandbox cost */
    double cpu_ms;
    uint64_t memory_peak_bytes;
    uint32_t processes_peak;
};

/* A file that is in /workspace when the program begins. */
struct run_given {
    char *path; /* checked (files_path_check) */
    char *data;
    size_t len;
    struct shared *owner; /* what the data is part of; NULL: it is the run's own */
    bool is_executable;
    bool has_digest;
    uint8_t digest[SHA256_BYTES]; /* of the data, where it is known */
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
    struct spool_store *store; /* where the whole is kept once bytes are missing; NULL: nowhere */
    uint64_t *spooled;         /* what its owner keeps there, or NULL */
    struct spool *spool;       /* the whole, or as much as fits; NULL: head and tail are all */
};

/* What a run changed in directories granted for writing: numbers of things. A file that was opened
 * for writing counts as changed. */
struct run_changes {
    bool is_known; /* false: no directory was granted for writing */
    bool has_undo; /* `belljar undo` can take it back */
    uint64_t created, changed, removed, renamed;
};

struct run {
    /* --- the request, filled by a door --- */
    char id[32]; /* "run_" + 26 characters */
    enum run_language language;
    struct buf code;
    const char *profile;      /* its name; the next four are what it says (admit/profile.h) */
    struct span policy;       /* the rules, as they travel into the sandbox */
    bool uses_grants;         /* it has directories or hosts by the right `grants` of its token */
    uint32_t required_layers; /* bits of enum wire_layer, all of which must stand */
    bool may_spawn;           /* false: the kernel refuses execve and new processes */
    uint32_t reach;           /* bits of enum run_reach: what it may ask of the outside */
    bool can_ask;             /* the door brings questions to who sent it, and answers back */
    struct run_limits limits;
    char **env;       /* "NAME=value", NULL at the end, or NULL */
    char **args;      /* the program's run_program_name() and arguments, NULL at the end, or NULL */
    struct buf input; /* standard input */
    bool has_input;
    struct run_grant grants[LIMIT_GRANTS];
    size_t n_grants;
    char *workdir; /* where it starts (admit/workdir.h); NULL: /workspace */
    bool keeps_layers; /* what is changed in copy-on-write grants outlives the sandbox */
    struct net *net;   /* hosts it may reach (base/net.h), or NULL */
    struct run_given *given;
    size_t n_given;
    char **collect;           /* patterns of files to bring back, NULL at the end, or NULL */
    bool is_check;            /* the program is checked, and nothing of it is run */
    bool only_checks;         /* `code` is files (wire/message.h): whether all of them might run */
    bool auto_print;          /* echo the last expression, as a REPL does */
    bool auto_print_str;      /* then as print() shows it: the text of a string, not its quotes */
    enum run_masking masking; /* secrets, unless the operator says otherwise */
    struct masks *masks;      /* of its engine: the pool fills it in */
    struct pseudonyms *names; /* of its session, or NULL: personal data has no names */

    bool has_seed; /* the same program and input give the same output */
    uint64_t seed;

    char *environment; /* the name of another one than the settings say, or NULL */
    char session[32];  /* the id of its session; "": it has a sandbox of its own */

    struct store *kept; /* where its owner's things are, which lives longer; NULL: nowhere */
    char keeper[RUN_KEEPER_MAX]; /* the owner by that store's name for him */

    const char *session_name; /* what the client calls it; NULL: it has a sandbox of its own */

    /* For its record; the door's, and NULL where it has none. */
    const char *owner;
    const char *correlation_id;
    bool wants_receipt;

    /* --- callbacks, all optional but on_done --- */
    /* Instead of running anything: a sandbox that fits, which is the taker's from here on
     * (engine/box.h, box_keep). */
    void (*on_box)(struct run *run, struct box *box);
    void (*on_event)(struct run *run, const struct run_event *event); /* as things arrive */
    void (*on_done)(struct run *run);
    void *user;

    /* --- the result, filled on the way back --- */
    struct error error; /* code != E_NONE: Belljar itself failed and nothing below holds */
    enum run_status status;
    enum run_state state; /* of a cell; RUN_STATE_NONE: it was none */
    int exit_code;
    int signal;
    struct run_stream out;
    struct run_stream err;
    char *result_text;            /* value of `result` or of the last expression, or NULL */
    char *result_json;            /* the same as JSON where it is plain data, or NULL */
    struct run_display *displays; /* in order, within LIMIT_DISPLAYS and LIMIT_DISPLAY_BYTES */
    size_t n_displays;
    size_t display_bytes;
    uint32_t displays_more; /* shown beyond the limits and not kept */
    uint64_t n_progress;    /* reports so far */
    struct run_exception exception;
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
    struct layers *cow;      /* with keeps_layers: whoever asked frees it (sandbox/layer.h) */
    struct run_masked masked;
    struct run_traffic *traffic; /* NULL: no host is granted */
    struct run_changes changes;  /* in directories granted for writing */
    struct run_denial *denials;  /* in order, up to LIMIT_DENIALS */
    size_t n_denials;
    uint64_t denials_more; /* not listed */
    struct run_usage usage;
    char fingerprint[65]; /* with a seed: what else its output depends on (engine/fingerprint.h) */
    uint32_t layers;      /* bit set of enum wire_layer: what stood around the code */
    uint64_t started_ns, handed_ns, ended_ns;
    uint64_t server_cpu_ns; /* CPU time of the supervisor that it took, beside usage.cpu_ms */
    char *receipt;          /* JSON, signed (audit/receipt.h), or NULL */
    bool is_recorded;       /* its beginning is; its end is due */
    char code_sha256[65];   /* of the program as it came; "": it is not recorded */

    /* Runs of the same caller that were under way when it began, itself among them; 0: nobody
     * counts. A caller with many runs waits behind one with few, and has a smaller share of the
     * cores. */
    uint32_t crowd;

    /* --- the pool's own --- */
    struct run *next;             /* in the queue */
    struct box *box;              /* that was made for it or that it runs in */
    struct zygote_client *zygote; /* the sandbox has to be one of this one's; NULL: of any */
};

/* A run with a fresh id and default limits; the code buffer is ready to be filled. NULL: out of
 * memory. */
struct run *run_new(void);
void run_free(struct run *run);

/* Keeps a copy of what was shown, or counts it when there is no room. Returns the copy, or NULL. */
const struct run_display *run_add_display(struct run *run, const struct wire_display *shown);

/* It waits for the sandbox: as a copy, or, where it has an owner, as a reference to that.
 * E_TOO_LARGE: too many. */
int run_give_file(struct run *run, const struct run_given *file, struct error *err);

/* The same for a file of a skill, which is counted apart from the client's; those come first. */
int run_give_skill(struct run *run, const struct run_given *file, struct error *err);

/* They are where they belong, and not needed any more. */
void run_drop_given(struct run *run);

/* A variable for the program; one of that name before it counts no more. E_TOO_LARGE: there are too
 * many. */
int run_add_env(struct run *run, const char *name, const char *value, struct error *err);

/* The form of that type, or NULL. */
const struct run_form *run_display_form(const struct run_display *display, const char *mime);

/* Under which name the program of that file is known inside, in tracebacks and as sys.argv[0]: the
 * last part of the path, `_` for each byte that is not a plain character of names. It is never a
 * path and never in brackets, which is what the library's names are (guest/policy/caller.c). */
#define RUN_PROGRAM_NAME_MAX 128
void run_program_name(const char *path, char name[RUN_PROGRAM_NAME_MAX]);

/* Adds something that was refused, or counts it when it is in the list already or the list is full.
 * The texts may have words of the program in them, such as a path: they become one line without
 * control characters, and the pool masks and cuts them before the answer is given. `hint` may be
 * NULL. Returns 0, or -1 without memory. */
int run_deny(struct run *run, const char *what, const char *layer, const char *hint);

/* Masks and cuts those that have not been. What `mask` returns holds until its next call. */
void run_mask_denials(struct run *run,
                      struct clean_text (*mask)(struct run *run, const char *text, size_t len));
void run_free_denials(struct run *run);

/* Whether it says no more than the run's status does. */
bool run_denial_is_status(const struct run *run, const struct run_denial *denial);

/* What it asks for is its owner's, in that store. NULL: there is none. */
void run_set_keeper(struct run *run, struct store *kept, const char *owner);

/* The word of the lowest bit that is set. */
const char *run_reach_name(uint32_t reach);

const char *run_grant_mode_name(enum run_grant_mode mode); /* "ro", "rw", "cow" */
const char *run_status_name(enum run_status status);
const char *run_state_name(enum run_state state); /* NULL: it was no cell */
int run_status_exit(const struct run *run);
