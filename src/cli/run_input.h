/* Standard input of `belljar run`, passed on to the program as it comes: a pipe, socket or file, of
 * any length.
 *
 * The sandbox gets a pipe of its own, never our descriptor: that of a file could be opened again
 * for writing. A helper process copies, so that a program that does not read holds up nobody. Of a
 * file only what the program has read counts as read afterwards, so that a loop such as `while read
 * line; do belljar run …; done <list` goes on with the next line.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct run_input {
    int fd;            /* the end for the program; -1: nothing is passed on */
    pid_t helper;      /* 0: there is none */
    uint64_t *written; /* by the helper, which shares it */
    off_t begin;       /* of a file: where we found it; -1: it is not a file */
};

#define RUN_INPUT_NONE ((struct run_input){.fd = -1, .begin = -1})

/* Whether standard input is one of these. */
bool run_input_is_there(void);

/* Starts the helper. Early, while few descriptors are open. */
int run_input_start(struct run_input *input, struct error *err);

/* The program has ended. */
void run_input_end(struct run_input *input);
