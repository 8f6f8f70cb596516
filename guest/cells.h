/* The Python kernel of a session: takes one cell after the other from a socket and runs it in the
 * same interpreter. Between two cells it waits in its receive loop with nothing of the program's on
 * its stack. */
#pragma once

#include "wire/message.h"

struct cells_fds {
    int cells;    /* WIRE_CELL frames come here */
    int report;   /* what is said of them */
    int kept_out; /* copies of standard output and error, out of the program's way */
    int kept_err;
    void (*reseed)(void); /* gives random numbers another beginning */
};

/* Never returns: ends with the pipe. */
void __attribute__((noreturn)) cells_serve(const struct cells_fds *fds);
