/* The doorman: checks a program against its profile, before and while it runs.
 *
 * policy_load() decodes the rules that came with the request (wire/policy.h). policy_check() walks the AST that is
 * then compiled and run; policy_seal() switches on the audit hook, which enforces the same rules at run time and
 * cannot be removed from Python. All of it runs inside the sandbox: this layer answers fast and in words, the
 * kernel's walls behind it do not depend on it.
 */
#pragma once

#include <Python.h>

#include "wire/pack.h"

struct policy;

/* One finding. Strings are malloc'd. */
struct policy_violation {
    char *rule; /* "import", "builtin", "attribute", "format", "syntax", "source", ... */
    char *name;
    unsigned line;
    unsigned column; /* 1-based characters, 0: unknown */
    char *message;
    char *hint; /* or NULL */
};

struct policy_report {
    struct policy_violation *items;
    size_t count;
    size_t more; /* found beyond the limit and not listed */
};

/* Called once in the zygote, after the interpreter is up and before any fork: interns the names the walk needs and
 * adds the audit hook, which stays silent until policy_seal(). Returns 0 or -1. */
int policy_prepare(void);

/* NULL: the bytes are not a valid policy, or out of memory. */
struct policy *policy_load(struct span encoded);
void policy_free(struct policy *policy);

/* Checks the source before parsing: size, lines, NUL, UTF-8, coding cookie. Findings go to the report.
 * Returns 0 when it was checked (look at the report), -1 when the check itself failed: then nothing may run. */
int policy_check_source(const struct policy *policy, struct span source, struct policy_report *report);

/* Walks the tree (an ast.Module made by CPython from that very source). Same return value. */
int policy_check_tree(const struct policy *policy, PyObject *tree, struct policy_report *report);

/* From now on the audit hook enforces `policy`, which must live until the process ends. */
void policy_seal(const struct policy *policy);

void policy_report_done(struct policy_report *report);
