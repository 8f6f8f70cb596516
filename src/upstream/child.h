/* A program of the operator's that runs beside us, with three pipes.
 *
 * It gets fixed arguments, an environment of our making and no descriptor but the pipes. It stands
 * in a pid namespace of its own, whose first process is a keeper that does nothing but wait: when
 * the keeper ends, because the program did, because we killed it or because we are gone, Linux
 * kills everything the program has started. Where no such namespace can be made (child_start()
 * tries) the program itself still ends with the keeper; what it started has to notice that its
 * input ends.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct child_options {
    char *const *argv; /* [0] is looked for in PATH unless it is a path */
    char *const *env;  /* "NAME=value" beside PATH, HOME, USER, LOGNAME, LANG and TZ; may be NULL */
    const char *cwd;   /* NULL: the root directory */
};

struct child {
    pid_t pid; /* of the keeper; -1: there is none, or it was reaped */
    int pidfd;
    int in, out, err; /* our ends; none of them waits */
};

#define CHILD_NONE ((struct child){.pid = -1, .pidfd = -1, .in = -1, .out = -1, .err = -1})

/* Does not wait for the program: one that cannot be executed says so on its standard error and ends
 * with code 127. */
int child_start(const struct child_options *options, struct child *ret_child, struct error *err);

/* Whether it has ended. Then `words` says how: "exit code 3", "signal 9". */
bool child_reap(struct child *child, char words[32]);

/* Closes its input, which asks it to end, gives it `patience_ms`, and kills it. Waits. */
void child_done(struct child *child, int patience_ms);
