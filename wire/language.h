/* The languages that programs can be written in: one table for the command line, HTTP, MCP,
 * profiles, the engine and the kernels.
 *
 * To add a language, add a row to LANGUAGES and a driver guest/drivers/NAME.* (guest/driver.h). The
 * rest reads the table. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "wire/pack.h"

/* Columns, lists separated by spaces:
 *
 *     id            RUN_id, and WIRE_KERNEL_id
 *     name, title   for requests, and for people
 *     aliases       further names in requests
 *     suffixes      of files
 *     interpreters  in a #! line; a version may follow
 *     kernel        the id whose kernel runs it, and whose name profiles use
 *     programs      that it needs on the host, looked for as sandboxes do
 *     packages      of Debian that have them, in the same order
 *     arguments     of the first program before the driver's text. MEMORY is the memory limit in
 *                   MB, SEED the seed of the run or 0. Empty: the kernel is not a driver
 *
 * The first is the default. Numbers are never stored: rows may be moved. */
/* clang-format off */
#define LANGUAGES(X)                                                                               \
    X(PYTHON, "python", "Python", "py python3", ".py", "python",                                   \
      PYTHON, "", "", "")                                                                          \
    X(BASH, "bash", "Bash", "sh shell", ".sh .bash", "bash sh",                                    \
      BASH, "", "", "")                                                                            \
    X(JAVASCRIPT, "javascript", "JavaScript", "js node nodejs", ".js .mjs .cjs", "node nodejs",    \
      JAVASCRIPT, "node", "nodejs",                                                                \
      "--experimental-vm-modules --max-old-space-size=MEMORY --random-seed=SEED -e")               \
    X(TYPESCRIPT, "typescript", "TypeScript", "ts", ".ts .mts .cts", "ts-node tsx",                \
      JAVASCRIPT, "node esbuild", "nodejs esbuild", "")
/* clang-format on */

enum run_language {
#define X(id, name, ...) RUN_##id,
    LANGUAGES(X)
#undef X
        RUN_LANGUAGES,
    /* Not a language: `args` are executed as they are, and `code` is the same as a line of a shell.
     * A command runs where Bash may: in a sandbox of its own, or beside the kernels of a session.
     */
    RUN_COMMAND = RUN_LANGUAGES
};

/* Comma-separated names, for schemas. */
#define LANGUAGE_COMMA_NAME(id, name, ...) "," name
#define LANGUAGE_NAMES                     (&(LANGUAGES(LANGUAGE_COMMA_NAME))[1])

struct language {
    const char *name, *title, *aliases, *suffixes, *interpreters;
    enum run_language kernel;
    const char *programs, *packages, *arguments;
};

extern const struct language languages[RUN_LANGUAGES + 1]; /* the last is RUN_COMMAND's */

/* By name or alias, in any case. -1: there is none. */
int language_find(struct span word);

/* By the suffix of a file's name, or by the name of an interpreter. -1: there is none. */
int language_of_file(const char *path);
int language_of_interpreter(struct span word);

/* Whether a driver runs it (guest/drivers/). */
bool language_has_driver(enum run_language language);

/* The path of a program by the same rule inside and outside of sandboxes, which show the host's
 * /usr. False: it is not installed. */
#define LANGUAGE_PATH_MAX 64
bool language_find_program(struct span name, char path[LANGUAGE_PATH_MAX]);

/* Whether something that it needs is not installed; which program, and its package. */
bool language_missing(enum run_language language, struct span *ret_program,
                      struct span *ret_package);

/* The first word of a list, and the list after it; empty at the end. */
struct span language_next_word(const char **list);
