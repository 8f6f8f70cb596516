/* The doorman: checks a program against its profile, before and while it runs.
 *
 * policy_load() decodes the rules that came with the request (wire/policy.h). policy_check_source()
 * and policy_check_tree() look at the bytes and at the AST that is then compiled and run.
 * policy_seal() switches on the audit hook, which enforces the same rules at run time and cannot be
 * removed from Python. All of it runs inside the sandbox: this layer answers fast and in words, the
 * kernel's walls behind it do not depend on it.
 *
 * The order for one program:
 *
 *     policy_prepare()                          once, in the zygote
 *     policy_load()                             the rules arrive
 *     policy_check_source()                     then parse once, as UTF-8, with policy_filename()
 *     policy_check_tree()                       findings: report them, run nothing
 *     compile the same tree with policy_filename()
 *     policy_seal()                             then run it in the globals of __main__
 */
#pragma once

#include <stdbool.h>

#include <Python.h>

#include "wire/message.h"
#include "wire/pack.h"

struct policy;

/* The file name the program is parsed and compiled with: "<code>", unless it was given another
 * before that. At run time a frame is the program's own unless its file lies in the interpreter's
 * library, so the name must be one that no file of the library can have; the checker lets the
 * kernel itself parse under it. */
const char *policy_filename(void);

/* -1: it is not a plain name of letters, digits, `.`, `_`, `-` and `+`. A path or a name in
 * brackets could claim to be the library's. */
int policy_set_filename(struct span name);

/* Cells of a session are numbered: "<cell 7>". */
#define POLICY_CELL_FILENAME "<cell "

/* Is it one of these names? */
bool policy_is_program_file(struct span file);

/* One finding. Strings are malloc'd. */
struct policy_violation {
    char *rule; /* "import", "builtin", "attribute", "format", "syntax", "source", ... */
    char *name;
    unsigned line;
    unsigned column; /* 1-based characters, 0: unknown */
    char *message;
    char *hint; /* or NULL */
};

/* Starts zeroed. */
struct policy_report {
    struct policy_violation *items;
    size_t count;
    size_t more; /* found beyond the limit and not listed */
    /* The text that policy_check_source() saw, kept by the caller until the tree is checked:
     * columns of the tree are bytes, and become characters with its help. */
    struct span source;
};

/* Called once in the zygote, after the interpreter is up (sys.path is what counts as library from
 * now on) and before any fork: interns the names the walk needs and adds the audit hook, which
 * stays silent until policy_seal(). Returns 0 or -1. */
int policy_prepare(void);

/* NULL: the bytes are not a valid policy, or out of memory. */
struct policy *policy_load(struct span encoded);

/* Once, in the zygote, after policy_prepare(): reads those that most runs will have, so that their
 * kernels find them read. 0 or -1. */
int policy_learn(const struct wire_policies *policies);

/* The policy of a run. NULL: as above, or there is none of that number. */
struct policy *policy_of_run(const struct wire_run *run);

/* Once: where modules of the operator's lie, which may use the network where programs may not. -1:
 * out of memory. */
int policy_set_helpers(const struct wire_strings *directories);

/* Once, before a program is checked: the granted directory in which it starts. -1: out of memory.
 */
int policy_set_project(const char *directory);

/* A program may start commands of the system: the profile runs Bash, or allows subprocess. */
bool policy_has_shell(void);

/* Once, before any is loaded: modules that every profile allows, those of the standard library
 * excepted. -1: out of memory. */
int policy_allow_modules(const struct wire_strings *names);
void policy_free(struct policy *policy);

/* True when there is nothing to look at: profile `open`. */
bool policy_restricts_nothing(const struct policy *policy);

/* The policy in force looks at programs: it is not that of profile `open`. */
bool policy_has_rules(void);

/* One that looks at everything and lets python_rehearse() pass. */
struct policy *policy_rehearsal(void);

/* Checks the source before parsing: size, lines, NUL, UTF-8, coding cookie. Findings go to the
 * report. Returns 0 when it was checked (look at the report), -1 when the check itself failed: then
 * nothing may run. */
int policy_check_source(const struct policy *policy, struct span source,
                        struct policy_report *report);

/* The source without a byte order mark, which CPython's parser takes from files only. */
struct span policy_source_text(struct span source);

/* Walks the tree (an ast.Module made by CPython from that very source). Same return value. */
int policy_check_tree(const struct policy *policy, PyObject *tree, struct policy_report *report);

/* Adds modules that the tree imports and that are not installed, by the rule "missing". Nothing of
 * the program is run, and no module is imported. Returns 0 or -1. */
int policy_check_imports(PyObject *tree, struct policy_report *report);

/* From now on the audit hook enforces `policy`, which must live until the process ends, and the
 * globals of __main__ have builtins that know the rules: what is blocked raises an error that says
 * so, getattr() and its kin look at the name they get, imports look at who asks. Nothing changes
 * when the profile restricts nothing. Returns 0 or -1: then nothing may run. */
int policy_seal(const struct policy *policy);

/* For sessions, before the first cell: nothing can be put into the classes of tree nodes any more.
 * A property there would show one tree to policy_check_tree() and another one to the compiler.
 * Returns 0 or -1. */
int policy_seal_nodes(void);

/* May the program import the module, under the policy that is sealed? */
bool policy_may_import(struct span module);

/* Like policy_may_import(), but for `import MODULE`: of some only listed names can be imported. */
bool policy_may_import_whole(struct span module);

/* The statement `import MODULE` is allowed, be it that the program sees a part of the module. */
bool policy_may_say_import(struct span module);

/* A file of Python that a cell runs (`%run`), under the rules of modules of the program's own. Not
 * those that would count as the library's. */
bool policy_can_run_file(const char *path);

/* Its bytes, or NULL with an exception: not there, or not for the program to read. */
PyObject *policy_read_file(const char *path);

/* `source` ends with a NUL. New reference, or NULL with an exception. */
PyObject *policy_run_text(const char *path, struct span source, PyObject *globals);

/* The directories in which modules of the library lie, one after the other; NULL ends them. */
const char *policy_library_directory(size_t index);

/* Compiles text of ours, also in the middle of a program whose profile lets nobody compile. */
PyObject *policy_compile_own(const char *source, const char *filename);

void policy_report_done(struct policy_report *report);
