/* Private to src/cli/batch/: many programs, a few at a time, each in a fresh sandbox.
 *
 * batch.c reads the command line and collects the programs. They run in sandboxes of this process
 * (batch_local.c), or on a server (batch_remote.c). Both report each end to batch_report.c, which
 * keeps one line for each program, and nothing else of it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "admit/request.h"
#include "base/config.h"
#include "base/error.h"
#include "base/run.h"
#include "cli/remote.h"

/* One program, and what is kept of its end. */
struct batch_item {
    char *path;
    char *kept;          /* the name of its output files, without the suffix; NULL: none is kept */
    const char *outcome; /* the name of a status, or "failed"; NULL: it is not over */
    char *detail;        /* an error in a line, or NULL */
    int exit_code;
    double wall_ms;
    double memory_bytes;
};

struct batch {
    struct config *config;
    struct remote remote;     /* the server, where there is one */
    struct run_request asked; /* what all programs have in common */
    const char *language, *input, *config_file;
    long jobs; /* at a time */
    struct batch_item *items;
    size_t count, capacity, done, failed;
    bool is_json;
    const char *into; /* where output is kept, or NULL */
    int into_fd;
    uint64_t begun_ns, shown_ns; /* of the progress line; 0: there is none */
};

/* The run of a program is over: `run` has its result. `answer` is the result object, or NULL: it is
 * made of the run. */
int batch_report(struct batch *batch, struct batch_item *item, const struct run *run,
                 const json_t *answer, struct error *err);

/* It did not run, or Belljar failed. Empties `why`. */
int batch_report_error(struct batch *batch, struct batch_item *item, struct error *why,
                       struct error *err);

/* The table, and how many of which kind. */
void batch_print(struct batch *batch);

/* Reads the program of an item. `text` is borrowed by *ret_asked; run_request_done() afterwards. */
struct run_text; /* cli/run_source.h */
int batch_read(const struct batch *batch, const struct batch_item *item, struct run_text *text,
               struct run_request *ret_asked, struct error *err);

/* Both run all programs. 0: all are over; 1: interrupted; -1. */
int batch_run_here(struct batch *batch, struct error *err);
int batch_run_there(struct batch *batch, struct error *err);
