/* The standard input of a program: our end of its pipe, and what is still to be written to it.
 *
 * The bytes are in a buffer of the owner's. What the program does not read stays there; writing
 * waits for the loop.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/loop.h"

struct input_pipe {
    int fd; /* -1: it is closed */
    struct loop *loop;
    struct loop_watch *watch; /* NULL: there is nothing to write */
    struct buf *data;         /* emptied when all of it was written and more may come */
    size_t sent;
    bool stays_open; /* more may come: input_pipe_go_on() */
};

/* `*ret_theirs` is the caller's, also after a failure where it is not -1. */
int input_pipe_open(struct input_pipe *pipe, struct loop *loop, struct buf *data, bool stays_open,
                    int *ret_theirs, struct error *err);

/* Like input_pipe_open(), but for a terminal, whose master `fd` is the pipe's from here on. It
 * stays open. */
int input_pipe_use(struct input_pipe *pipe, struct loop *loop, struct buf *data, int fd,
                   struct error *err);

/* There is more to write, or no more will come. */
int input_pipe_go_on(struct input_pipe *pipe, struct error *err);

/* Forgets what was written, before more is added: a program that is always a little behind would
 * have everything kept that it was ever sent. */
void input_pipe_forget(struct input_pipe *pipe);

/* Bytes that were not written yet. */
size_t input_pipe_waiting(const struct input_pipe *pipe);

void input_pipe_close(struct input_pipe *pipe); /* also one that was never opened, or is closed */
