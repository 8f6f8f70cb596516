/* Runs programs under a profile the way the Python kernel does, each in a forked child: check,
 * compile the tree that was checked, seal, run. For the tests of the policy.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "guest/policy/policy.h"

enum program_end {
    PROGRAM_RAN,     /* to its end */
    PROGRAM_RAISED,  /* an exception ended it */
    PROGRAM_REFUSED, /* before it began */
    PROGRAM_BROKE,   /* the check failed, or the process died */
};

struct program_result {
    enum program_end end;
    char *output; /* stdout, then stderr or the findings */
};

/* Starts the interpreter, imports the modules that are there, prepares the policy. */
int program_start(const char *const *modules, size_t count);

/* The ready profile of that name, as it arrives in the sandbox; ends the test program if there is
 * none. */
struct policy *program_policy(const char *profile);

/* An ast.Module, or NULL with a Python exception. */
PyObject *program_parse(const char *source);

/* Findings of source and tree together; fails the check by returning -1. */
int program_check(const struct policy *policy, const char *source, struct policy_report *report);

struct program_result program_run(const char *profile, const char *source);
void program_result_done(struct program_result *result);
