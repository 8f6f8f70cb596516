/* The program of a run: its text and what comes with it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/id.h"
#include "base/sha256.h"
#include "wire/language.h"

struct shared; /* base/shared.h */

/* The name of a language, as in the audit trail. */
const char *run_language_name(enum run_language language);

/* A file that is in /workspace when the program begins. */
struct run_given {
    char *path; /* checked (files_path_check) */
    char *data;
    size_t len;
    struct shared *owner; /* what the data is part of; NULL: it is the run's own */
    bool is_executable;
    bool has_digest;
    uint8_t digest[SHA256_BYTES]; /* of the data, where it is known */
};

struct run_program {
    enum run_language language;
    char context[ID_SIZE]; /* of a cell: the id of its kernel; "": its language's own */
    const char *directory; /* of a kernel: as in struct wire_run, or NULL; lent */
    struct buf code;
    bool holds_variables; /* values of variables are part of the code, and kept only where those are
                             (`trail_keep`) */
    char **args;      /* run_program_name(), or the command, and the arguments; NULL at the end, or
                         NULL */
    char *script;     /* the path of its file, which lies in a granted directory, or NULL */
    struct buf input; /* standard input */
    bool has_input;
    bool is_input_open;     /* of a command: more of it comes later (box_command_input) */
    uint16_t columns, rows; /* of its terminal; 0: as Linux makes it */
    struct buf typed;       /* there, and not written down yet */
    bool is_typed; /* without it: a person at the door types a line when the program wants one */
    bool is_input_passed; /* its standard input is a pipe of the door's, and not recorded: */
    int input_fd;         /* lent until the run has ended */
    struct run_given *given;
    size_t n_given;
    char **collect;      /* patterns of files to bring back, NULL at the end, or NULL */
    bool is_check;       /* the program is checked, and nothing of it is run */
    bool only_checks;    /* `code` is files (wire/message.h): whether all of them might run */
    bool auto_print;     /* echo the last expression, as a REPL does */
    bool is_notebook;    /* of a cell: reported as by a notebook (WIRE_RUN_NOTEBOOK) */
    bool auto_print_str; /* then as print() shows it: the text of a string, not its quotes */
};
