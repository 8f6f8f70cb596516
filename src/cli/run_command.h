/* `belljar run` and `belljar exec`: one program or command, one sandbox, and the program's own exit
 * code. Both are the same command with different options (run_options.c); run.c has the rest.
 */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "admit/profiles.h"
#include "admit/request.h"
#include "base/config.h"
#include "base/run.h"
#include "cli/consent.h"
#include "cli/output_sink.h"
#include "cli/remote.h"
#include "cli/run_files.h"
#include "cli/run_input.h"
#include "cli/run_source.h"
#include "cli/run_terminal.h"
#include "cli/save_pictures.h"
#include "cli/typed_line.h"
#include "engine/engine.h"

/* Also a bit in the table of options. */
enum run_kind { RUN_KIND_RUN = 1, RUN_KIND_EXEC = 2 };

/* Words of the command line, borrowed from it. */
struct run_arguments {
    struct run_source source;
    const char *config;
    const char *save;
    const char *python; /* "3.13": with the system's Python of that version */
    bool is_here;       /* the current directory is granted */
};

struct run_command {
    enum run_kind kind;
    struct run_arguments request;
    struct config *config;
    struct profiles *profiles;
    struct run_request asked;
    struct run_text text; /* what it borrows */
    struct run_input input;
    struct run_files files;
    struct run_terminal terminal;
    struct engine engine;
    struct store *store; /* what its programs find again */
    struct remote remote;
    struct consent consent;
    struct typed_line typed;
    bool is_held;    /* the program waits until its output is taken */
    struct run *run; /* NULL until it is admitted */
    struct output_sink out, err;
    struct save save;
    bool is_json;
    bool is_done;
    bool is_closing;  /* asked to stop once */
    bool applies;     /* what was changed in copy-on-write directories, if it ends well */
    bool has_diffs;   /* and says which lines */
    bool with_hidden; /* applies also what a diff does not show */
    json_t *changes;  /* as api/changes.h has them, or NULL */
    json_t *settled;  /* the same of what was applied */
};

/* Reads the command line. Returns 0, or the exit code + 1 when there is nothing more to do. */
int run_options_parse(struct run_command *job, int argc, char **argv);

/* Belljar's own failure: words for people, and the object where one was asked for. Returns the exit
 * code. */
int run_command_fail(const struct run_command *job, struct error *err);
