/* The event loop of programs that await at their top level. In a session it stays from cell to
 * cell, and while the kernel waits for the next cell its tasks go on, as in notebooks. */
#pragma once

#include <Python.h>

#include "wire/message.h"

/* Once, in the zygote. 0 or -1. */
int cell_loop_prepare(void);

/* asyncio.create_task() works in the code even where nothing is awaited. */
void cell_loop_offer(struct span code);

/* The value of the coroutine, or NULL with an exception. */
PyObject *cell_loop_run(PyObject *coroutine);

/* Tasks that are left go on until there is something to read. */
void cell_loop_wait(int fd);

/* Cancels what is left. An exception that is set stays. */
void cell_loop_close(void);
