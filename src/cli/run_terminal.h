/* `belljar exec -t` and `belljar run -t`: the user's terminal as that of a program in a sandbox.
 *
 * Keys go to the program one by one, Ctrl-C, Ctrl-Z and Ctrl-\ among them, and so does the size of
 * the window. Output comes back through base/terminal_screen.h. The terminal is as it was before
 * the command ends, however it ends, unless by SIGKILL.
 */
#pragma once

#include <stdbool.h>

#include "admit/request.h"
#include "base/error.h"
#include "base/loop.h"
#include "cli/output_sink.h"

#define RUN_TERMINAL_BYTES 4096

struct run_terminal {
    bool is_wanted;
    int keyboard; /* our terminal, opened again so that reads do not block */
    int master;   /* of the program's terminal */
    struct loop *loop;
    struct loop_watch *typed, *room, *resized, *stopped, *continued;
    char data[RUN_TERMINAL_BYTES]; /* typed, and not taken yet */
    size_t len, taken;
};

#define RUN_TERMINAL_NONE ((struct run_terminal){.keyboard = -1, .master = -1})

/* Whether our standard input and output are a terminal; opens it. */
int run_terminal_open(struct run_terminal *terminal, struct error *err);

/* The variables by which programs know the terminal, unless the request sets them. */
int run_terminal_describe(struct run_request *asked, struct error *err);

/* For a program without a terminal whose output goes to ours: its size, in the variables that
 * programs look at, unless the request sets them. Output to a file or a pipe does not depend on the
 * terminal. */
int run_terminal_describe_size(struct run_request *asked, struct error *err);

/* The program begins; `master` is taken over. May be called again. */
void run_terminal_begin(struct run_terminal *terminal, struct loop *loop, int master);

/* Like run_terminal_begin(), but for a program whose keys somebody else passes on. */
void run_terminal_take(struct run_terminal *terminal);

/* The program has ended: writes what waits in the sink, and gives the terminal back. */
void run_terminal_end(struct run_terminal *terminal, struct output_sink *sink);
