/* Files of `belljar run` and `belljar exec` without a grant: `--file` puts copies into /workspace,
 * `--collect` with `--into` brings files back.
 *
 * Names of collected files are the program's. They stay below the directory, no link is followed,
 * protected names (sandbox/protected.h) are not written, and a file that exists is replaced only
 * with `--replace`. A file is whole or not there.
 */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "admit/request.h"
#include "base/error.h"
#include "base/run.h"

struct run_files {
    json_t *body;     /* `files` and `collect` as of a request over HTTP; NULL: neither */
    size_t bytes;     /* of `files` */
    const char *into; /* the word of --into, or NULL */
    bool replaces;
    int dir; /* that is into; -1: it is not open */
};

#define RUN_FILES_NONE ((struct run_files){.dir = -1})

/* FILE or FILE=NAME; a pattern of --collect. */
int run_files_add(struct run_files *files, const char *word, struct error *err);
int run_files_add_pattern(struct run_files *files, const char *word, struct error *err);

/* All options have been read: whether they go together. Opens the directory, which is made if only
 * its last part is missing. */
int run_files_check(struct run_files *files, struct error *err);

/* Puts them into a request of our own. */
int run_files_ask(const struct run_files *files, struct run_request *asked, struct error *err);

/* Writes what was collected; `result` is the answer of a server, or NULL. Tells about each file on
 * standard error, and returns how many were not written. */
size_t run_files_save(const struct run_files *files, const struct run *run, const json_t *result);

void run_files_done(struct run_files *files);
