/* A request, and the one function that decides on it.
 *
 * Every door (command line, HTTP, MCP, the interfaces of other systems) fills a struct run_request.
 * admit_request() decides on profile, environment, directories, hosts, limits and rights, and makes
 * the run. Nothing of a request reaches a run in another way.
 *
 * A request borrows its texts, which have to outlive it; only the lists are its own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "admit/caller.h"
#include "admit/profiles.h"
#include "base/config.h"
#include "base/error.h"
#include "base/run.h"
#include "engine/session.h"
#include "store/store.h"
#include "wire/pack.h"

struct run_request_words {
    const char **items;
    size_t count;
};

struct run_request_variable {
    struct span name;
    const char *value;
};

/* A file that comes with the request. */
struct run_request_file {
    char *path; /* checked (files_path_check); the request's */
    struct span content;
    struct shared *owner; /* what `content` is part of; NULL: it is lent, and copied */
    bool is_executable;
    const uint8_t *digest; /* SHA-256 of the content, or NULL */
};

struct run_request {
    /* The program. */
    struct span code;   /* data NULL: there is none, a session is opened or rights are checked */
    size_t max_code;    /* bytes; 0: as the setting `code_bytes` says */
    struct span input;  /* data NULL: it has no standard input */
    bool is_input_open; /* more of it comes later: of a command in a session */
    enum run_language language;
    bool is_notebook; /* as in struct run_program */
    bool auto_print, auto_print_str, only_checks, is_check, wants_receipt;
    bool has_seed;
    uint64_t seed;
    const char *session_name; /* by which the program and the operator's functions know the session,
                                 of a run with its own sandbox; NULL: it has none */
    const char *filename;     /* what it goes by; NULL: it has no name unless it has arguments */
    struct run_request_words args;
    struct run_request_file *files; /* that are in /workspace when it begins */
    size_t n_files;
    struct run_request_words collect; /* patterns of files to bring back, */
    bool has_collect;                 /* where they were named, perhaps as an empty list */

    /* Its rights. */
    const char *profile;     /* NULL: that of the settings, or the first of the token */
    const char *environment; /* NULL: that of the settings */
    struct run_request_words allow, net;
    struct run_request_words ports; /* of servers in a session that its clients reach */
    const char *workdir;            /* where it starts; NULL: as the settings and the grants say */
    bool has_allow, has_net;        /* they were named, perhaps as an empty list */
    struct run_request_variable *env;
    size_t n_env;

    /* Limits that were asked for, in the units of their names. */
    double limits[RUN_LIMIT_ROWS];
    uint32_t limits_set; /* bit per row of run_limit_table */

    uint64_t max_output_bytes; /* the most that this door shows; 0: any */
    bool has_terminal;         /* it runs on a terminal; the door passes on what is typed */
    uint16_t columns, rows;    /* its size; 0: as Linux makes it */
    bool has_one_stream;       /* both streams end in the same place: their order is kept */
    bool masks_all;            /* personal data, too, whatever the settings say */
    bool can_ask;              /* the door brings questions to who sent it, and answers back */
    bool can_type;             /* a person types what the program reads, when it wants it */
};

void run_request_done(struct run_request *request);

int run_request_add(struct run_request_words *words, const char *text, struct error *err);
int run_request_add_variable(struct run_request *request, struct span name, const char *value,
                             struct error *err);

/* Takes path and reference of the file over, also when it fails. */
int run_request_add_file(struct run_request *request, const struct run_request_file *file,
                         struct error *err);
void run_request_set_limit(struct run_request *request, enum run_limit_row row, double value);

/* The treatment of a directory that is granted copy-on-write. */
enum admission_cow {
    ADMISSION_COW_KEEPS,     /* somebody can look at the changes afterwards */
    ADMISSION_COW_IS_DENIED, /* they would be gone with the sandbox */
    ADMISSION_COW_READS,     /* the same, and the program sees it read-only */
};

/* The caller, and the rules that decide. */
struct admission {
    const struct config *config;
    struct profiles *profiles;
    const struct caller *caller; /* NULL: the user whose command this is, and who may do anything */
    bool has_settings_grants;    /* the sandbox gets the directories and hosts of the settings */
    const struct run *granted;   /* directories and hosts that every sandbox gets; NULL: none */
    bool
        gives_all; /* a request that names none gets all that its caller may have of the settings */
    const struct session *session; /* the run is a cell of it; NULL: it has its own sandbox */
    enum admission_cow cow;
    bool has_skills;     /* the program finds skills, */
    bool may_keep;       /* and keeps states and skills, */
    struct store *store; /* of this store, which may be NULL, */
    const char *keeper;  /* and of this owner */
};

/* The run that the request asks for, ready to be submitted; the caller's. E_DENIED: rights, or the
 * profile, do not allow it. */
int admit_request(const struct admission *admission, const struct run_request *request,
                  struct run **ret_run, struct error *err);

/* Whether the caller may still have what was admitted before. Its token may have been given less
 * since: then cells, copies and files of the session are refused. E_DENIED: no longer. */
int admission_check_run(const struct caller *caller, const struct run *run, struct error *err);
int admission_check_session(const struct caller *caller, const struct session *session,
                            struct error *err);

/* Like admission_check_session(), for a session that is not open yet. */
int admission_check_terms(const struct caller *caller, const struct run_terms *terms,
                          struct error *err);

/* Whether sessions that are opened over MCP, or over HTTP, end for one another at the limit
 * (`session_evict`). */
bool admission_evicts(const struct config *config, bool is_mcp);

/* Opens a session on the terms of the request, which has no code. `options` says the rest;
 * max_own is taken from the caller. */
int admit_session(const struct admission *admission, const struct run_request *request,
                  struct sessions *sessions, const struct session_options *options,
                  struct session **ret_session, struct error *err);

/* The most this caller may ask for: the setting's ceiling, or the lower one of its token. */
double admission_limit_max(const struct config *config, const struct caller *caller,
                           enum run_limit_row row);

/* Sessions that this caller may have at once, as struct session_options has it. */
long admission_max_sessions(const struct caller *caller);
