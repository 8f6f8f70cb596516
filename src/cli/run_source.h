/* The program of `belljar run`, or the command of `belljar exec`: where its text, its language and
 * its input come from. */
#pragma once

#include "admit/request.h"
#include "base/buf.h"
#include "base/config.h"
#include "base/run.h"

struct run_source {
    const char *code;     /* the text of -c, or NULL */
    const char *language; /* the word of -l, or NULL: by the file */
    const char *file;     /* "-": standard input; NULL: with -c, or standard input */
    const char *input;    /* the word of --stdin, or NULL */
    char **command;       /* a command and its arguments, NULL at the end; NULL: a program */
};

/* Texts that the request borrows. */
struct run_text {
    struct buf code, input;
};

/* Reads and checks the program and its input, and fills in what `asked` says of them. */
int run_source_read(const struct run_source *source, const struct config *config,
                    struct run_text *text, struct run_request *asked, struct error *err);

/* Whether the suffix is that of a program. */
bool run_source_has_suffix(const char *file);

/* Tells the program its own path, where its file lies in a directory that the run is granted. */
int run_source_place(const struct run_source *source, struct run *run, struct error *err);

void run_text_done(struct run_text *text);
