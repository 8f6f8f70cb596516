/* Shared by the files of belljar-broker. */
#pragma once

#include <limits.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "broker/broker.h"
#include "sandbox/protected.h"
#include "sandbox/survey.h"
#include "sandbox/tree_lock.h"
#include "undo/journal.h"
#include "wire/message.h"

/* A handler answers with a result or -errno. This one is for calls that are not about a directory
 * granted for writing, and for whatever is odd about a path: Linux then performs the call
 * itself, on mounts that are read-only where it matters. It permits nothing. */
#define ANSWER_CONTINUE LONG_MIN

/* A large file is being saved for undo: the call is begun again when broker->waits_for is readable.
 * Or no run is on (-1): it is begun again with the next one. Until then others are served. */
#define ANSWER_LATER (LONG_MIN + 1)

/* A directory that was granted, for writing or not. */
struct granted_dir {
    char *path;   /* on the host, and in the sandbox */
    char *inside; /* in the sandbox, without links; NULL: not known yet */
    int mount;    /* writable; -1: it is not granted for writing */
    dev_t dev;
    ino_t ino;
    uint64_t mount_id; /* of its mount in the sandbox; 0: not known yet */
    struct survey *survey;
};

/* Files that programs made several names for, through us: at most so many. */
#define LINKS_MAX 65536

struct known_link {
    dev_t dev;
    ino_t ino;
    nlink_t names;
};

struct known_links {
    struct known_link *slots;
    size_t n_slots, n_used, n_files;
};

struct broker {
    int listener;
    int root;              /* of the sandbox */
    struct tree_lock lock; /* on the directories granted for writing */
    struct granted_dir grants[WIRE_GRANTS_MAX];
    uint32_t n_grants;
    unsigned looks_left;          /* for where they are in the sandbox; 0: found, or given up */
    bool has_nested;              /* one lies below another, or a place of ours below one */
    struct broker_report *report; /* shared with the supervisor */
    bool is_keeping;              /* changes are kept for undo */
    bool is_paused;               /* no run is on that they could belong to */
    bool is_ending;               /* the run is over, some of its processes may not be */
    int journal_dir;              /* of the present run, until its first change; or -1 */
    struct journal_limits limits;
    struct journal *journal; /* since its first change */
    uint64_t file_bytes;     /* the largest file the run may make; 0: no limit */
    uint64_t cpu_ns_before;  /* CPU time of ours when the run began */
    uint64_t call;           /* the one that is being answered */
    uint64_t base_call;      /* the call whose working directory is in `base`; 0: none */
    char base[PATH_MAX];
    int waits_for;     /* with ANSWER_LATER; the journal's */
    uid_t uid;         /* of the sandbox, on the host */
    bool has_umask;    /* ours is what every process of the sandbox has */
    bool umask_varies; /* some process has called umask(2) */
    mode_t umask;      /* ours, as it was set last */
    struct known_links links;
};

/* The place of a call: a name in a directory below a grant. */
struct place {
    struct granted_dir *grant;
    unsigned index;      /* of the grant */
    int parent;          /* on the writable mount */
    bool owns_parent;    /* it is ours to close */
    char path[PATH_MAX]; /* from the grant on, resolved */
    const char *name;    /* the last part of it */
    bool has_slash;      /* something follows the name: only a directory is meant */
    bool exists;
    struct stat st; /* when it exists; of a link: its own */
};

/* --- target.c: what is read of the process that made the call --- */

/* 0 or -errno. */
int target_read(pid_t pid, uint64_t address, void *data, size_t len);
int target_path(pid_t pid, uint64_t address, char path[PATH_MAX]);

/* The absolute path of its working directory or of a directory descriptor, as the sandbox sees it.
 */
int target_directory(pid_t pid, int dirfd, char path[PATH_MAX]);

/* A copy of one of its descriptors: the same open file. -errno: it has none by that number. */
int target_descriptor(pid_t pid, int fd);
int target_umask(pid_t pid, mode_t *ret_umask);

/* Whether the caller still waits. To be asked after something was read of it and before it is used:
 * the number of a process that has ended may be another one's. */
bool target_waits(const struct broker *b);

/* --- resolve.c: from a path to a place --- */

/* 0, -errno, or ANSWER_CONTINUE: the path does not lead into a directory granted for writing.
 * `follows`: a link in the last part is followed. */
long resolve_place(struct broker *b, pid_t pid, int dirfd, uint64_t address, bool follows,
                   struct place *ret_place);

/* Resolves something that exists and is not moved: this allows ".", "..", and the granted directory
 * itself, whose path is "" and whose name is ".". `flags`: AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH.
 * Without an address, and with an empty path if that is permitted, `dirfd` itself is meant: the
 * place is that of the descriptor's file. */
long resolve_object(struct broker *b, pid_t pid, int dirfd, uint64_t address, int flags,
                    struct place *ret_place);
void place_done(struct place *place);

/* A path below a grant that we know, resolved. */
long resolve_known(struct broker *b, unsigned grant, const char *path, struct place *ret_place);

/* The mount that a descriptor is on; 0: unknown. */
uint64_t resolve_mount_id(int fd);

/* Opens a directory as the sandbox sees it; *ret_path is its path there, without links. -1: no. */
int resolve_inside(const struct broker *b, const char *path, char ret_path[PATH_MAX]);

/* Finds out where the grants are in the sandbox. */
void resolve_grants(struct broker *b);

/* Looks again at what is there. */
void place_look(struct place *place);

/* --- judge.c: what may be changed --- */

enum judge_act {
    JUDGE_CREATE,      /* a new name */
    JUDGE_CREATE_LINK, /* a new symbolic link */
    JUDGE_CREATE_DIR,  /* a new directory */
    JUDGE_CHANGE,      /* content or attributes of what is there */
    JUDGE_TIMES,       /* nothing but its times */
    JUDGE_REMOVE,      /* the name goes, and what it names */
    JUDGE_LEAVE,       /* the name goes by a rename */
    JUDGE_ARRIVE,      /* the name is new, or another one's, by a rename or a link */
    JUDGE_LINK,        /* what is there gets another name */
};

/* 0, or -errno: refused, and said so in the report. */
long judge(struct broker *b, const struct place *place, enum judge_act act);

/* Judges without an entry in the report: nobody has tried it yet. */
long judge_quietly(struct broker *b, const struct place *place, enum judge_act act);

/* Data that git believes and that is checked when it gets its name: git_data.c. */
enum protected_data judge_data(const struct broker *b, const struct place *place);

/* Why a program may not write the (absolute) path; NULL: it may, as far as names tell. */
const char *judge_name(const struct broker *b, const char *path);

/* Judges the text of a new symbolic link. */
long judge_target(struct broker *b, const struct place *place, const char *target);

/* Judges giving the name `to` to the file at `from`, by a rename or as a second name. */
long judge_move(struct broker *b, const struct place *from, const struct place *to);

/* A refusal for another reason. Returns -errnum. */
long judge_refuse(struct broker *b, const struct place *place, const char *verb, const char *why,
                  int errnum);

/* Something that could not be done, which is no path. */
void judge_note(struct broker *b, const char *what, const char *why);

/* --- links.c: files whose names are all known --- */

/* The number of names of the file that we know; 0: it is not one of these. */
nlink_t links_known(const struct broker *b, const struct stat *st);

/* Before it gets one more. False: there are LINKS_MAX already, or no memory. */
bool links_have_room(struct broker *b, const struct stat *st);

/* The file, which was like this before, has one more name, made by us. */
void links_note(struct broker *b, const struct stat *st);

/* A name is gone. The number of a file without names may be another's. */
void links_forget(struct broker *b, const struct stat *st);

/* --- held.c: files that stay open from one run to the next --- */

/* For journal_on_final(): remembers the file if somebody has it open for writing. */
void held_note(void *arg, unsigned grant, const char *path, int fd, const struct stat *st);

/* Handles a file that was opened before the first run. */
void held_note_opened(const struct place *place, int fd);

/* A run begins: writes down those that are remembered, and forgets them. */
void held_keep(struct broker *b);
void held_forget(void);

/* --- calls.c: the calls themselves (broker/calls.h) --- */

/* Performs the call; *ret_fd is a descriptor to hand to the caller, or -1. */
long call_perform(struct broker *b, const struct seccomp_notif *notif, int *ret_fd,
                  uint32_t *ret_fd_flags);
