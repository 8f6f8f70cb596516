/* Private to shell*.c: a person at a prompt, and a session behind it. */
#pragma once

#include "admit/profiles.h"
#include "admit/request.h"
#include "base/buf.h"
#include "base/config.h"
#include "base/run.h"
#include "cli/consent.h"
#include "cli/flags.h"
#include "cli/output_sink.h"
#include "cli/remote.h"
#include "cli/shell/backend.h"
#include "cli/typed_line.h"
#include "engine/engine.h"
#include "engine/session.h"
#include "terminal/editor.h"
#include "terminal/picture.h"

/* Names that were typed, for completion. */
#define SHELL_NAMES_MAX 1000

/* Sessions at once: more than a person keeps apart. */
#define SHELL_SESSIONS_MAX ((size_t)64)

struct shell;

/* Cells in a session of this process. */
struct backend_local {
    struct backend base;
    struct shell *shell;
    struct backend_cell cell; /* that is under way; without its code */
    struct run *run;          /* of it, or NULL */
};

struct shell {
    struct store *store; /* what programs find again */
    struct config *config;
    struct profiles *profiles;
    struct engine engine;
    struct sessions *sessions;
    struct session *session;                  /* the one that cells go to; NULL: it ended */
    struct session *list[SHELL_SESSIONS_MAX]; /* by number; NULL: a free place */
    struct backend_local local;
    struct backend_remote *remote; /* a session of a server; NULL: ours */
    struct backend *backend;       /* where cells run */
    struct editor *editor;
    char first[32], more[32]; /* prompts */
    enum run_language language;
    struct buf text;    /* the lines of a cell so far */
    bool is_completing; /* a cell that says how a word goes on is under way */
    bool has_cell;      /* one is under way */
    bool is_interrupted;
    struct output_sink out, err;
    bool is_held; /* the cell waits until its output is taken */
    struct consent consent;
    struct typed_line typed; /* for cells that read their input */
    bool has_color;
    bool has_progress; /* a line of it stands on the terminal */
    enum picture_protocol protocol;
    char *pictures;           /* the directory; NULL: not found yet */
    struct run_request asked; /* what its session is opened with */
    char *names[SHELL_NAMES_MAX];
    size_t n_names;
    bool is_warned; /* of changes that leaving discards */
    bool is_ending; /* there will be no more lines */
    bool is_over;   /* the loop is to stop */
    int exit_code;
};

/* --- shell.c --- */

/* Asks for the next line; when there are no more, ends. */
void shell_ask(struct shell *shell);
void shell_end(struct shell *shell);

/* Forgets what has been typed. */
void shell_discard_line(struct shell *shell);

/* It is gone; the prompt goes to another, or ends. */
void shell_on_session_end(void *user, struct session *session, const char *why);

/* A line for the person, on standard error. */
void shell_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Reports a failure, which becomes the exit code. Empties the error. */
void shell_fail(struct shell *shell, struct error *err);

/* --- backend_local.c --- */

void backend_local_init(struct backend_local *local, struct shell *shell);

/* --- backend_remote.c --- */

/* Finds the session of the server, and makes the loop; nothing else of the engine is needed.
 * `remote` is lent. */
int backend_remote_open(struct shell *shell, struct remote *remote, struct error *err);
void backend_remote_greet(struct shell *shell); /* shell_ask() follows */
void backend_remote_free(struct shell *shell);  /* before the loop */

/* --- shell_cell.c --- */

/* The text is run; shell_ask() follows when it is done. */
void shell_run_cell(struct shell *shell);

/* The cell waits while the reader of the shell does not take what it wrote. */
void shell_hold(void *shell);

/* The question on the terminal is answered. */
void shell_on_answered(void *shell);

/* A line for the program is typed. */
void shell_on_typed(void *shell);

/* For requests of the user of the shell; in its session, where that is open. */
struct admission shell_admission(const struct shell *shell);

/* Ctrl-C while one runs. */
void shell_interrupt(struct shell *shell);

/* --- shell_command.c --- */

/* A line that begins with a colon; shell_ask() follows. */
void shell_command(struct shell *shell, const char *line);

/* A line that begins with a colon, or a word that leaves a shell: `exit`, `quit()`. */
bool shell_is_command(const char *line);

/* Adds the commands that begin so, for completion. */
void shell_command_names(struct editor_words *words, const char *prefix);

/* The names that follow the command: 'h' host files, 's' session files, 'c' checkpoints, 0:
 * none. */
char shell_command_takes(const char *command);

/* --- shell_copy.c: 1 means that shell_ask() follows later --- */

void shell_add_session(struct shell *shell, struct session *session);
bool shell_remove_session(struct shell *shell, const struct session *session);
size_t shell_session_number(const struct shell *shell, size_t *ret_count); /* of the present one */
int shell_list_sessions(struct shell *shell);
int shell_switch(struct shell *shell, const char *word, struct error *err);
int shell_list_checkpoints(struct shell *shell);
int shell_checkpoint(struct shell *shell, const char *name, struct error *err);
int shell_restore(struct shell *shell, const char *name, struct error *err);
int shell_fork(struct shell *shell, const char *word, struct error *err); /* NULL: one */

/* --- changes.c: in the session's copy-on-write directories; words are paths --- */

/* False: there are changes that would be lost, and the person has just been told so. */
bool shell_may_leave(struct shell *shell);

int shell_show_changes(struct shell *shell, char **words, size_t count, struct error *err);
int shell_apply(struct shell *shell, char **words, size_t count, struct error *err);
int shell_discard(struct shell *shell, char **words, size_t count, struct error *err);

/* --- shell_complete.c --- */

void shell_complete(void *owner, const char *text, size_t cursor);

/* Remembers the names in a cell. */
void shell_learn(struct shell *shell, const char *text);
