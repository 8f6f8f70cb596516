/* Shared by the commands that run programs: flags of the settings beside their own, variables, the
 * language, and granted directories. */
#pragma once

#include <getopt.h>

#include "admit/request.h"
#include "base/config.h"
#include "base/run.h"
#include "cli/cmd.h"

#define FLAGS_OPTIONS_MAX 64

/* The command's own flags, those it has of the option table (answered as `setting`), and the end.
 */
void flags_options(const char *command, const struct option *own, size_t n_own, int setting,
                   struct option *options);

/* The settings among the flags of a command, for its help, and how to see the rest of it. */
void flags_print(const char *command);

/* The flags of a command that takes no argument: its own, each of which has a place, and those of
 * the settings. */
struct flags {
    const struct option *own;
    size_t n_own;
    const struct cmd_place *places; /* of its own ones, but for -h */
    size_t n_places;
    int (*help)(void);
};

/* Settings go into `config`. Returns 0, or the exit code + 1 when there is nothing more to do. */
int flags_read(const struct flags *flags, struct config *config, int argc, char **argv);

/* --here: the current directory is granted, read-only unless a grant of the command line names it,
 * and programs start there. */
int flags_grant_here(struct config *config, struct error *err);

/* A variable of --env, borrowed from the command line. */
int flags_add_env(struct run_request *asked, const char *text, struct error *err);
