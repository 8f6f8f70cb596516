/* Kernels of languages that a program of the host runs, such as node: the process becomes that
 * program, which gets a driver of ours as its first argument (guest/drivers/NAME.*).
 *
 * A driver is started as `PROGRAM ARGUMENTS... TEXT MODE NAME SCRIPT [ARGUMENT...]`. NAME is the
 * program's name or "", SCRIPT the path of its file or "", what follows are the program's own
 * arguments. It takes frames of the type WIRE_CELL from descriptor 63 and writes its own to 62
 * (wire/message.h):
 *
 *     MODE      frames                                              it ends
 *     run       one; WIRE_STARTED has been sent                     with the program's exit code
 *     session   one after the other: WIRE_STARTED when it begins,   when nothing more comes
 *               WIRE_DONE when the cell has ended
 *
 * WIRE_RESULT and WIRE_EXCEPTION are optional. With WIRE_RUN_CHECK_ONLY nothing of the program is
 * run. While a cell with WIRE_RUN_TYPED is under way, a driver may ask for a line of standard input
 * with WIRE_CALL; WIRE_REPLY comes on 58. */
#pragma once

#include "wire/message.h"

struct driver {
    const char *name; /* the language's */
    const unsigned char *text;
    size_t len;
};

/* Both replace the process, and return only on failure, with an exit code. */
int driver_run(const struct wire_run *run, int report);
int driver_session(const struct wire_run *run, int cells, int report, int replies);
