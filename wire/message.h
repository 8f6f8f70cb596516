/* The messages between supervisor, zygote, init and kernel: who may send what, when, how large and
 * how often.
 *
 * Three channels, each a stream of its own:
 *
 *     zygote   supervisor <-> belljar-zygote     one per zygote
 *     init     supervisor <-> pid 1              one per sandbox
 *     kernel   supervisor <-> python, bash, ...  one per kernel; hostile from WIRE_STARTED on
 *
 * The kernel's has two halves: a socket on which the code comes and which is closed before it runs,
 * and a pipe for what the kernel says. A pipe carries no descriptors: closing one that a program
 * made can take as long as the program likes (SO_LINGER). A second pipe, the other way, is for what
 * a program asked for and nothing else.
 *
 * A frame is {magic, version, type, length} and `length` bytes (wire/frame.h). What a peer may send
 * depends on its state; wire_permitted() is the table. Anything else ends that sandbox, never the
 * supervisor.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/language.h"
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
    WIRE_SEALED, /* u32 layers: every step was applied; + a descriptor of /workspace; one of /tmp,
                    unless at the level `process`; for each copy-on-write grant two: its upper
                    directory, and what the program sees; the socket of the gate; the ptmx of its
                    terminals, unless at the level `process`; where a directory is granted for
                    writing: the root and the listener of calls for the broker, else the listener of
                    refused calls, if there is one */
    WIRE_FAILED, /* struct wire_failure: a step could not be applied; also zygote -> supervisor for
                    its own */
    WIRE_EXITED, /* struct wire_exited: a kernel, or a command, ended */
    /* supervisor -> kernel */
    WIRE_RUN, /* struct wire_run (+ a descriptor for stdin) */
    /* kernel -> supervisor */
    WIRE_WAITING,   /* ready for code */
    WIRE_REFUSED,   /* violations: nothing ran */
    WIRE_STARTED,   /* the next instruction is the program's */
    WIRE_RESULT,    /* text, json: value of `result` or of the last expression */
    WIRE_EXCEPTION, /* struct wire_exception */
    WIRE_DISPLAY,   /* struct wire_display: something to look at */
    WIRE_PROGRESS,  /* struct wire_progress */
    /* The corpora of tests know the numbers above: new ones come after them. */
    /* supervisor -> init, in sessions */
    WIRE_KERNEL, /* u32 process + descriptors: start a kernel, the one before it being gone, or a
                    command */
    WIRE_SIGNAL, /* u32 process, u32 signal: for that process and what it started */
    /* supervisor -> kernel, in sessions */
    WIRE_SESSION, /* a pipe: everything else comes on it, a WIRE_RUN without code and cells */
    WIRE_CELL,    /* struct wire_cell, on that pipe */
    /* kernel -> supervisor, in sessions */
    WIRE_DONE, /* u32 exit code, and text where the kernel is not where it started: its working
                  directory. A cell ended, and the kernel waits for the next */
    /* Copies of sessions. supervisor -> Python kernel, in place of a cell */
    WIRE_IMAGE,   /* struct wire_image + descriptors: write your memory and files */
    WIRE_RESTORE, /* struct wire_restore + descriptors: become the copy of one who did */
    /* kernel -> supervisor */
    WIRE_RESTORED, /* it is one, and waits for cells; otherwise WIRE_FAILED says why */
    /* init -> supervisor */
    WIRE_SIGNALLED, /* the signal of the oldest WIRE_SIGNAL that had no answer has been sent */
    /* Bash kernel -> supervisor */
    WIRE_SAVED, /* an enum wire_saved letter, then text: what WIRE_BASH_SAVE asked for */
    /* Calls of a program, docs/guide/reach.md. Kernel -> supervisor */
    WIRE_CALL, /* struct wire_call */
    /* supervisor -> kernel, on a pipe of its own; a shell gets WIRE_REPLY_TEXT */
    WIRE_REPLY, /* struct wire_reply */
    /* supervisor -> zygote, at the level `process` */
    WIRE_REMOVE, /* u64 id: nobody needs the files of that sandbox, which is gone */
    /* Ports of a session, docs/guide/ports.md. supervisor -> init */
    WIRE_CONNECT, /* u32 port: connect to it, on the sandbox's own loopback */
    /* init -> supervisor, in the order of the questions */
    WIRE_CONNECTED, /* u32 errno; 0: + the socket, connected or about to be */
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

/* --- who may send what, in which state --- */

enum wire_channel {
    WIRE_CHANNEL_ZYGOTE,
    WIRE_CHANNEL_INIT,
    WIRE_CHANNEL_KERNEL, /* a kernel that serves one run */
    WIRE_CHANNEL_CELLS,  /* a kernel of a session: the same, again and again */
};

enum wire_state {
    WIRE_STATE_STARTING, /* zygote warming up; init sealing; kernel being born */
    WIRE_STATE_READY, /* zygote serving; init waiting for its kernel to end; kernel waiting for code
                       */
    WIRE_STATE_HANDED,  /* kernel: has the code, checks it */
    WIRE_STATE_RUNNING, /* kernel: hostile from here on */
    WIRE_STATE_REFUSED, /* kernel of a session: has said why a cell did not run */
    WIRE_STATE_ENDED,   /* nothing more may come */
    WIRE_STATE_SAVING,  /* Bash kernel of a session: was asked for its variables */
};

struct wire_rule {
    enum wire_channel channel;
    enum wire_state state;
    enum wire_type type;
    enum wire_state next;
    uint32_t max; /* how often in this state; 0: any number */
};

/* The rule that lets a peer send `type` to the supervisor now, or NULL. `sent`: how often it
 * already did. */
const struct wire_rule *wire_permitted(enum wire_channel channel, enum wire_state state,
                                       unsigned type, uint32_t sent);

/* The longest body a message of this type may have; 0 for unknown types, too. */
uint32_t wire_type_max(unsigned type);
const char *wire_type_name(unsigned type);

/* --- bodies; spans point into the frame --- */

#define WIRE_STRINGS_MAX 256

struct wire_strings {
    struct span items[WIRE_STRINGS_MAX];
    uint32_t count;
};

#define WIRE_POLICIES_MAX 4

struct wire_setup {
    struct span python; /* the interpreter whose prefix is the environment, e.g. /usr/bin/python3 */
    struct wire_strings preload; /* modules to import before the first fork */
    struct wire_strings binds;   /* further trees to show read-only at their own place (a venv) */
    bool warm;                   /* prepare for many forks: prime, freeze, rebase */
    bool steady; /* for runs with a seed, see guest/steady/; the library is number 4 */
    struct wire_strings modules;   /* that profiles allow here beyond their own lists */
    struct wire_strings paths;     /* further places of modules; they are shown by `binds` */
    struct wire_strings variables; /* "NAME=value": set for every program */
    struct span directory; /* at the level `process`: where sandboxes have their files. Empty: in
                              namespaces. */
    /* Policies that most runs will have (wire/policy.h), so that kernels need not read them. */
    struct wire_policies {
        uint32_t count;
        struct span items[WIRE_POLICIES_MAX];
    } policies;
};

struct wire_ready {
    struct span python_version;
    struct wire_strings missing; /* "name: why" */
};

/* COW: read-only, under an overlay on the sandbox's own disk that takes what is written. */
enum wire_grant_mode { WIRE_GRANT_RO = 0, WIRE_GRANT_RW = 1, WIRE_GRANT_COW = 2 };

#define WIRE_GRANTS_MAX 32

/* The directory of packages that a program installs itself; it is on the path if a host is
 * granted. */
#define WIRE_PACKAGES "/tmp/packages"

/* The name and the address for commits, as variables of the program, and the settings of git that a
 * kernel makes of them: the system's, so that those of a repository are stronger. */
#define WIRE_GIT_NAME   "BELLJAR_GIT_NAME"
#define WIRE_GIT_EMAIL  "BELLJAR_GIT_EMAIL"
#define WIRE_GIT_SIGNS  "BELLJAR_GIT_SIGNS" /* "true": the user's commits are signed */
#define WIRE_GIT_CONFIG "/tmp/.belljar-git"

#define WIRE_COW_MAX    8 /* of them may be copy-on-write */
#define WIRE_ATTACH_MAX 4

/* Descriptors of WIRE_SPAWN, in this order: init socket, kernel socket, report pipe, stdout,
 * stderr, reply pipe, `attach` files of the cgroup, one detached mount per grant. */
#define WIRE_SPAWN_FDS 6

enum wire_spawn_flag {
    WIRE_SPAWN_TOUCH =
        1, /* run the warm-up in the child, so that its copy-on-write faults are paid */
    WIRE_SPAWN_NO_MEMFD = 2, /* no cgroup counts memory: no memory outside of processes */
    WIRE_SPAWN_GATE = 4,     /* hosts are granted: WIRE_SEALED brings a listening socket along */
    WIRE_SPAWN_TERMINAL = 8, /* its program has a terminal, and there is no other one */
};

/* The address of the gate inside the sandbox. It never changes, because a copy of a session
 * continues with what the program has read in its environment. */
#define WIRE_GATE_PORT 3128

struct wire_spawn {
    uint64_t id;
    uint32_t uid; /* in the zygote's user namespace */
    uint32_t flags;
    uint64_t disk_bytes;
    uint32_t inodes;
    uint32_t attach;
    uint32_t n_grants;
    struct {
        struct span path;
        uint32_t mode;
    } grants[WIRE_GRANTS_MAX];
    struct wire_strings hidden; /* places in them that the program must not see */
    struct span workdir;        /* where programs start; empty: /workspace */
};

struct wire_failure {
    uint32_t code; /* enum error_code of base/error.h */
    uint32_t errnum;
    struct span message;
    struct span hint;
};

/* Further kernels of a session, of any language. */
#define WIRE_CONTEXTS 8

/* The kernels of a sandbox, numbered as their languages. The first is born with it, and serves a
 * run in any language. The checker is a fresh process that checks one cell against the policy and
 * never runs any code. */
enum wire_kernel {
#define X(id, ...) WIRE_KERNEL_##id = RUN_##id,
    LANGUAGES(X)
#undef X
        WIRE_KERNEL_CHECKER,
    WIRE_KERNEL_CONTEXT, /* the first of WIRE_CONTEXTS */
    WIRE_KERNELS = WIRE_KERNEL_CONTEXT + WIRE_CONTEXTS
};

/* Commands beside the kernels of a session, at once. A command begins as a kernel that serves one
 * WIRE_RUN. Pid 1 numbers its processes: the kernels, then the commands. */
#define WIRE_COMMANDS  32
#define WIRE_TERMINALS 8 /* of them may have a terminal */
#define WIRE_PROCESSES (WIRE_KERNELS + WIRE_COMMANDS)

/* Descriptors of WIRE_KERNEL, in this order: kernel socket, report pipe, stdout, stderr, reply
 * pipe. */
#define WIRE_KERNEL_FDS 5

struct wire_exited {
    uint32_t process; /* below WIRE_PROCESSES */
    uint32_t status;  /* as of wait(2) */
    uint64_t cpu_us;
    uint64_t max_rss_kb;
};

enum wire_run_flag {
    WIRE_RUN_AUTO_PRINT = 2,
    WIRE_RUN_NO_EXEC = 4,   /* the profile's kernel shape */
    WIRE_RUN_STDIN = 8,     /* a descriptor comes along */
    WIRE_RUN_AS_PRINT = 16, /* with WIRE_RUN_AUTO_PRINT: str() instead of repr() */
    WIRE_RUN_SEED = 32,     /* of a steady zygote: clock and random numbers come from `seed` */
    WIRE_RUN_CHECK = 64, /* `code` is files, "path NUL source NUL" each: nothing of them is run */
    WIRE_RUN_INSTALLS = 128,   /* some modules are installed when they are imported */
    WIRE_RUN_CHECK_CELL = 256, /* `code` is one cell: it is checked, and nothing of it is run */
    WIRE_RUN_CHECK_ONLY =
        512,                  /* `code` is a program: the same, and what it imports is looked for */
    WIRE_RUN_TERMINAL = 2048, /* it runs on a terminal of the sandbox, and leads its session */
    WIRE_RUN_TYPED = 4096,    /* a person types what it reads: sys.stdin calls `input.line` */
    WIRE_RUN_ONE_STREAM = 8192, /* its standard error goes to its standard output */
    /* Of a Python cell: the value is that of the last expression, whatever `result` is, and a
     * traceback is reported and not printed. */
    WIRE_RUN_NOTEBOOK = 16384,
};

/* The text that a Bash kernel gets on its standard input for a cell, before the cell's text and a
 * NUL. TYPED: somebody types what `read` reads (WIRE_RUN_TYPED). For a cell with standard input:
 * the last form, and after the NUL that input in base64 and another NUL. Plain builtins, so that a
 * program that defines functions of these names changes nothing.
 *
 * The name is a program's to give properties to: it is made anew, and where it cannot be (readonly)
 * the shell ends, rather than run the cell before once more. */
#define WIRE_BASH_READ(name)                                                                       \
    "\\builtin unset -n " name "; \\builtin unset -v " name "; "                                   \
    "IFS= \\builtin read -r -d '' " name " || \\builtin exit 125; "
#define WIRE_BASH_STARTED(how)                                                                     \
    "\\__belljar_begin" how "; __belljar_runs=1; \\builtin printf \"$__belljar_started\" >&62; "
#define WIRE_BASH_EMPTY_INPUT "\\builtin eval \"$__belljar_code\" <&59 2>&61\n"
#define WIRE_BASH_CELL        WIRE_BASH_READ("__belljar_code") WIRE_BASH_STARTED("") WIRE_BASH_EMPTY_INPUT
#define WIRE_BASH_CELL_TYPED                                                                       \
    WIRE_BASH_READ("__belljar_code") WIRE_BASH_STARTED(" typed") WIRE_BASH_EMPTY_INPUT
#define WIRE_BASH_CELL_WITH_INPUT                                                                  \
    WIRE_BASH_READ("__belljar_code")                                                               \
    WIRE_BASH_READ("__belljar_input")                                                              \
    WIRE_BASH_STARTED("")                                                                          \
    "\\builtin eval \"$__belljar_code\" < <(base64 -d <<<\"$__belljar_input\") 2>&61\n"

/* Before a copy is made a Bash kernel is asked for its state: commands that make another shell go
 * on as this one. The first thing that the Bash of the copy is sent is the second line, the text
 * and a NUL. The supervisor does not look into it. */
#define WIRE_BASH_SAVE "\\__belljar_save \"$@\" || \\builtin :\n"
#define WIRE_BASH_LOAD                                                                             \
    WIRE_BASH_READ("__belljar_code")                                                               \
    "\\builtin eval \"$__belljar_code\" <&59 >/dev/null || \\builtin :\n"
#define WIRE_BASH_STATE_MAX 262144

/* The longest working directory that WIRE_DONE tells; of a longer one nothing is told. */
#define WIRE_DIRECTORY_MAX 1024

enum wire_saved {
    WIRE_SAVED_ALL = 'a',
    WIRE_SAVED_BUT_FILES = 'f', /* it has files open, which are not in it */
    WIRE_SAVED_NOTHING = 'l',   /* there is more than fits */
};

/* A cell of a session; limits, rules and variables came with WIRE_RUN. */
struct wire_cell {
    uint32_t flags;  /* WIRE_RUN_AUTO_PRINT, _AS_PRINT, _TYPED, _NOTEBOOK, _STDIN: `input` is
                        standard input */
    uint32_t number; /* 1, 2, ...: names the cell in tracebacks */
    struct span code;
    struct span input;
    struct span language; /* its name */
};

struct wire_run {
    uint32_t flags;
    uint32_t descriptors;
    uint32_t processes; /* 0: a cgroup counts them */
    uint32_t cpu_s;
    uint64_t file_bytes;
    uint64_t data_bytes; /* 0: a cgroup counts memory */
    struct span code;
    struct span policy;
    struct wire_strings env;
    struct wire_strings args; /* the program's name and what follows it; none: it has no name */
    uint64_t seed;            /* with WIRE_RUN_SEED */
    struct span script; /* the path of the program's file, where the sandbox has it; else empty */
    uint32_t language; /* enum run_language; of RUN_COMMAND, `code` is its words, each with a NUL */
    uint32_t memory_mb;    /* the limit of the whole sandbox */
    struct span directory; /* where it starts; empty: as every program. Of a kernel, a relative one
                              begins in /workspace */
    uint32_t terminal;     /* with WIRE_RUN_TERMINAL: its number */
    /* Of the policies of WIRE_SETUP, from 1 on: `policy` is empty then. 0: `policy` has it. */
    uint32_t known_policy;
};

/* Descriptors of WIRE_IMAGE: two files, for memory and for files, the pipe on which it is said how
 * that went, then those of cgroups: to join, and, where the kernel writes itself, to go back to. */
#define WIRE_IMAGE_FDS 3

enum wire_image_flag {
    WIRE_IMAGE_FLAT = 1,    /* refer to no earlier image */
    WIRE_IMAGE_NO_FORK = 2, /* the profile starts no processes */
};

/* Among the flags: there is a kernel of that language, which is not copied. */
#define WIRE_IMAGE_KERNEL(kernel) (256u << (kernel))

_Static_assert(RUN_LANGUAGES <= 24, "flags have a bit for each kernel");

struct wire_image {
    uint32_t flags;
    uint32_t joins;  /* at most WIRE_ATTACH_MAX */
    uint32_t leaves; /* the same */
};

/* Messages of the writer on its pipe: one letter each, then the end. After the last two a line of
 * text follows. An end without WIRE_IMAGE_DONE is a failure, too. */
enum wire_image_word {
    WIRE_IMAGE_FILES = 'f', /* the files are packed: the program may go on */
    WIRE_IMAGE_DONE = 'd',
    WIRE_IMAGE_REFUSED = 'r', /* this state cannot be copied, and why */
    WIRE_IMAGE_FAILED = 'e',  /* it could, but something went wrong */
};

#define WIRE_IMAGE_TEXT 1024

/* An image may build upon earlier ones; that many in all. */
#define WIRE_IMAGES_MAX 8

/* Descriptors of WIRE_RESTORE: the files, then the images, the newest last, then the overlays of
 * copy-on-write grants, if there are any. */
enum wire_restore_flag {
    WIRE_RESTORE_RESEED = 1, /* random numbers are to differ from those of the source */
};

struct wire_restore {
    uint32_t flags;
    uint32_t images;
    uint32_t cells;               /* so far: their numbers go on */
    struct wire_strings overlays; /* where they belong; none: there is no descriptor of overlays */
};

/* A call of a program. The kernel keeps to so many at once; a number comes back with its reply. */
#define WIRE_CALLS_MAX     16
#define WIRE_CALL_NAME_MAX 128

struct wire_call {
    uint64_t id;
    struct span name;
    struct span arguments; /* JSON, an object */
};

struct wire_reply {
    uint64_t id;
    bool is_ok;
    struct span value; /* JSON: what came of it, or {"code","message","hint"} */
};

/* The same as text with a NUL behind it, for a kernel that cannot read bytes: id, 1 or 0, JSON. */
#define WIRE_REPLY_TEXT "%" PRIu64 " %d %.*s"

struct wire_violation {
    struct span rule, name, message, hint;
    uint32_t line, column;
};

/* Names that help to explain an exception. Only names are sent, and the supervisor makes the
 * sentence: a program may send anything here, and must not be able to forge our messages. */
enum wire_advice {
    WIRE_ADVICE_NONE,
    WIRE_ADVICE_MODULE,  /* no such module; names: the nearest one or "", then what is installed */
    WIRE_ADVICE_IMPORT,  /* the undefined name is a module's; names: the module, its usual alias */
    WIRE_ADVICE_MAGIC,   /* a command of a notebook, `%time` or `!ls`, which is not Python */
    WIRE_ADVICE_VERSION, /* what another version has; names: the library or "Python", its version */
};

struct wire_exception {
    struct span name, message, traceback;
    uint32_t line;
    uint32_t column; /* 0: not known */
    uint32_t advice; /* enum wire_advice; an unknown one means none */
    struct wire_strings names;
};

#define WIRE_FORMS_MAX 16

/* A picture as models take it, beside one that is too large for them. */
#define WIRE_SMALL_PICTURE "image/vnd.belljar.small+png"

/* One object, in one or several forms. */
struct wire_display {
    uint32_t count;
    struct {
        struct span mime, data;
    } forms[WIRE_FORMS_MAX];
    struct span metadata; /* a JSON object, or nothing */
};

struct wire_progress {
    uint64_t done;
    uint64_t total; /* 0: unknown */
    struct span text;
};

void wire_pack_setup(struct pack *p, const struct wire_setup *m);
bool wire_unpack_setup(struct unpack *u, struct wire_setup *m);
void wire_pack_ready(struct pack *p, const struct wire_ready *m);
bool wire_unpack_ready(struct unpack *u, struct wire_ready *m);
void wire_pack_spawn(struct pack *p, const struct wire_spawn *m);
bool wire_unpack_spawn(struct unpack *u, struct wire_spawn *m);
void wire_pack_failure(struct pack *p, const struct wire_failure *m);
bool wire_unpack_failure(struct unpack *u,
                         struct wire_failure *m); /* may follow an id: checks the end */
void wire_pack_exited(struct pack *p, const struct wire_exited *m);
bool wire_unpack_exited(struct unpack *u, struct wire_exited *m);
void wire_pack_run(struct pack *p, const struct wire_run *m);
bool wire_unpack_run(struct unpack *u, struct wire_run *m);
void wire_pack_cell(struct pack *p, const struct wire_cell *m);
bool wire_unpack_cell(struct unpack *u, struct wire_cell *m);
void wire_pack_image(struct pack *p, const struct wire_image *m);
bool wire_unpack_image(struct unpack *u, struct wire_image *m);
void wire_pack_restore(struct pack *p, const struct wire_restore *m);
bool wire_unpack_restore(struct unpack *u, struct wire_restore *m);
void wire_pack_violation(struct pack *p, const struct wire_violation *m);
bool wire_unpack_violation(
    struct unpack *u, struct wire_violation *m); /* one of a list: ask unpack_ok() at its end */
void wire_pack_exception(struct pack *p, const struct wire_exception *m);
bool wire_unpack_exception(struct unpack *u, struct wire_exception *m);
void wire_pack_display(struct pack *p, const struct wire_display *m);
bool wire_unpack_display(struct unpack *u, struct wire_display *m);
void wire_pack_progress(struct pack *p, const struct wire_progress *m);
bool wire_unpack_progress(struct unpack *u, struct wire_progress *m);

void wire_pack_call(struct pack *p, const struct wire_call *m);
bool wire_unpack_call(struct unpack *u, struct wire_call *m);
void wire_pack_reply(struct pack *p, const struct wire_reply *m);
bool wire_unpack_reply(struct unpack *u, struct wire_reply *m);

static inline struct span span_of(const char *text)
{
    return (struct span){text ? text : "", text ? __builtin_strlen(text) : 0};
}
