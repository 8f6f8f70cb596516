/* The output of a virtual machine: the guest's console, QEMU and virtiofsd write into one pipe.
 * The bytes are a stranger's. The last of them go into the log (wire/machine.h) and are kept for
 * the reason of an end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "wire/machine.h"

#define CONSOLE_TAIL 2048
#define CONSOLE_LINE 200

struct console {
    int fd;
    bool is_loud;            /* copied to standard error */
    struct machine_log *log; /* NULL: there is none */
    char tail[CONSOLE_TAIL];
    size_t n_tail;
};

/* `has_log`: descriptor MACHINE_LOG. The other end of the pipe is the caller's. */
int console_open(struct console *console, bool is_loud, bool has_log, int *ret_end,
                 struct error *err);

/* Reads a piece. False: nothing comes any more. */
bool console_take(struct console *console);

/* QEMU has said why it ends. */
bool console_has_complaint(const struct console *console);

/* The last line of the guest's first process, or else of QEMU, or else of any process; of a machine
 * that was up, the kernel alone: others have said something else. Printable. */
void console_last_words(const struct console *console, bool was_up, char line[CONSOLE_LINE]);
