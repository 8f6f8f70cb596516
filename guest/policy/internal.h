/* Shared by the files of the policy: the rules as a table, the queries on it, and the report. */
#pragma once

#include <Python.h>

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"
#include "guest/policy/policy.h"
#include "wire/message.h"
#include "wire/policy.h"

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

/* For "%.*s": names come from the program and may be long. */
#define SHOWN(span) (int)((span).len < 120 ? (span).len : 120), (span).data

/* One key of the table and all the lists it is on. */
struct rule {
    const char *key;   /* in policy->bytes or policy->pairs */
    const char *value; /* of a hint */
    uint32_t key_len;
    uint32_t value_len;
    uint32_t hash;
    uint32_t lists; /* bits 1 << enum policy_list */
};

struct policy {
    char *bytes; /* a copy of the message; rules point into it, or into `pairs` */
    char *pairs; /* "io:StringIO" for the granular imports */
    char *profile;
    uint32_t flags;
    uint32_t powers;
    uint32_t max_bytes;
    uint32_t max_lines;
    struct rule *rules; /* the first is empty: what no profile names */
    size_t n_rules;
    uint16_t *places; /* a hash table of indices into `rules`, open addressing; 0: free */
    size_t mask;
    PyObject *builtins; /* of programs, made in advance; or NULL */
};

/* ---- questions (policy_rules.c) ---- */

bool policy_on_list(const struct policy *policy, enum policy_list list, struct span name);

/* The rule of the module or of the nearest parent that has one decides; without any, the mode does.
 */
bool policy_module_allowed(const struct policy *policy, struct span module);

/* The module itself stands on the allow-list, by this very name. */
bool policy_module_named(const struct policy *policy, struct span module);

/* Only single names may be imported from it. */
bool policy_module_granular(const struct policy *policy, struct span module);
bool policy_from_allowed(const struct policy *policy, struct span module, struct span name);

bool policy_builtin_refused(const struct policy *policy, struct span name);
bool policy_attribute_refused(const struct policy *policy, struct span name);

/* `x.__class__.__name__` is how programs say the name of a type, unless the profile names
 * `__class__` itself. */
bool policy_class_is_soft(const struct policy *policy);

/* ---- modules as the program sees them (policy_modules.c) ---- */

enum policy_view {
    VIEW_NONE,  /* no name of it but `__version__` and the like, and modules in it that are allowed
                 */
    VIEW_PARTS, /* these, and the names that the profile lists */
    VIEW_WHOLE, /* all but modules in it that are not allowed */
};

enum policy_view policy_module_view(const struct policy *policy, PyObject *module);

/* May the program read this name of the module, whose value this is (or NULL, where it is not
 * known)? */
bool policy_member_allowed(const struct policy *policy, PyObject *module, struct span name,
                           PyObject *value);

/* Before the program gets the module. 0 or -1. */
int policy_module_hand_out(const struct policy *policy, PyObject *module);

/* C code of ours that is called by the program reads attributes by a name that the program gave, or
 * does no longer. Returns what was said before. */
bool policy_modules_read_by_name(bool on);

/* C code of ours that belongs to the program, and may have been passed to a library, reads an
 * attribute of this object right now; NULL: it has done so. */
void policy_modules_read_for_program(PyObject *object);

int policy_modules_prepare(void);

/* Applies these rules to methods of built-in types that read attributes. */
int policy_slots_prepare(void);

/* Closes the ways to the very dictionary of a type or a module. */
int policy_hidden_prepare(void);

/* Watches which attributes a class pattern reads by position. */
int policy_match_prepare(void);

/* Makes a method such as `__eq__` of a built-in type do `guard`, if it does `real` now. */
void policy_replace_slot(PyTypeObject *type, const char *name, void *real, void *guard);

/* May the program hold this module, which it reaches as `reached` ("os.path" is posixpath by its
 * own name)? */
bool policy_module_object_allowed(const struct policy *policy, PyObject *module,
                                  struct span reached);

/* `from module import *` would bring in a module that is not allowed: its name in `module`,
 * borrowed, or NULL. A module without __all__ gives away everything it imported itself. */
PyObject *policy_star_brings(const struct policy *policy, PyObject *module);

/* May the program run `from module import name` (or, with an empty name, `import module`)? Only the
 * lists are asked; whether the name is a module is for the caller to see. */
bool policy_import_allowed(const struct policy *policy, struct span module, struct span name);

/* The alternative, for kind "import", "builtin" or "attribute"; empty if the profile names none. */
/* "allowed are json, math, re"; false: there are too many, or no list. */
bool policy_list_modules(const struct policy *policy, char *text, size_t size);

struct span policy_hint(const struct policy *policy, const char *kind, struct span name);

/* The module on the allow-list that was probably meant, or nothing. */
struct span policy_nearest_module(const struct policy *policy, struct span name);

/* ---- templates of str.format (policy_format.c) ---- */

/* Finds the first attribute in a replacement field that the profile refuses. With `is_field` the
 * text is a field name by itself ("0.__class__"). */
bool policy_template_refused(const struct policy *policy, struct span text, bool is_field,
                             struct span *ret_name);

/* For a library's template, which may contain `{0.__class__.__name__}`: only names that lead to
 * globals count. */
bool policy_template_dangerous(const struct policy *policy, struct span text, bool is_field,
                               struct span *ret_name);

/* The name is refused, and turns an object into a way to somebody's globals. */
bool policy_attribute_dangerous(const struct policy *policy, struct span name);

/* A dotted path as attrgetter() takes it. */
bool policy_path_refused(const struct policy *policy, struct span path, struct span *ret_name);

/* ---- the walk (policy_walk.c) ---- */

enum policy_text {
    TEXT_PROGRAM,
    TEXT_ANNOTATION, /* names types and makes objects of them (`Annotated[int, Range(0, 9)]`); it
                        calls no functions */
    TEXT_GENERATED,  /* a library wrote it around names of the program, as dataclasses does; it says
                        `other.__class__` whatever the profile thinks of that */
};

/* Like policy_check_tree() for what a library evaluates in the program's name. It runs with the
 * library's builtins, so getattr() with a name that is not known now is refused. */
int policy_check_text(const struct policy *policy, PyObject *tree, enum policy_text kind,
                      struct policy_report *report);

/* Like policy_check_text(), but for a module of the program's own, which may say `from . import x`.
 */
int policy_check_module(const struct policy *policy, PyObject *tree, struct policy_report *report);

/* ---- modules of the program's own (policy_workspace.c) ---- */

void policy_workspace_set_builtins(PyObject *dict);

/* Once, before the program imports what is not in memory yet. 0 or -1. */
int policy_workspace_watch(void);

/* Between the two, this thread parses text that is checked elsewhere. -1: it does so already, and
 * code of the program runs in between. */
int policy_parse_begin(void);
void policy_parse_expect(void); /* right before each parse in between */
void policy_parse_end(void);

/* ---- the report (policy.c) ---- */

/* `column` is in bytes from 0, or -1. Returns 0 or -1 (out of memory: fail closed). */
int policy_report_add(struct policy_report *report, const char *rule, struct span name, int line,
                      int column, struct span hint, const char *fmt, ...)
    __attribute__((format(printf, 7, 8)));

/* Sorts by place and turns byte columns into characters. */
void policy_report_finish(struct policy_report *report, size_t first);

/* ---- who is calling (policy_caller.c) ---- */

int policy_caller_prepare(void);

/* There is such a module in the interpreter's library, allowed or not. Takes names without dots. */
bool policy_module_exists(struct span name);

/* Forgets what policy_module_exists() has found: it is of one program, or one cell. */
void policy_forget_modules(void);

/* The hint where a profile has none, or "". */
const char *policy_last_hint(const struct policy *policy);

/* The hint for an import that is on no list, or "". */
const char *policy_unlisted_hint(const struct policy *policy, struct span module);

/* True when the file lies in the interpreter's library. */
bool policy_is_library_path(struct span path);

/* The name of the module in a file of the library. -1: it is too long, or there is none. */
int policy_library_name(struct span path, char *name, size_t size);
bool policy_is_stdlib_path(struct span path);

/* Frames of code with this file name would count as library. */
bool policy_claims_library(struct span path);

/* A file below the granted directory in which programs start, if the profile lets them import from
 * there: its code is the user's, and not judged. */
bool policy_is_project_path(struct span path);

/* A module of that directory that stands in for none of the library. */
bool policy_is_project_module(struct span module);

/* The nearest Python frame that counts is the program's own, or code made from text at run time.
 * With `skip_stdlib` the standard library is a tool in somebody's hand, and the hand is looked for.
 */
bool policy_caller_is_guest(bool skip_stdlib);

/* A helper of the operator's is at work, by way of libraries or by itself: between it and here
 * there is nothing of the program. */
bool policy_caller_is_helper(void);

/* A module is being imported between here and the program: what it does now is set-up, not the
 * program's wish. */
bool policy_caller_is_importing(void);

/* The nearest code is importlib's own. */
bool policy_caller_is_importlib(void);

/* The body of a library's module is running between here and the program. */
bool policy_caller_is_module(void);

/* There is no Python frame, and this is the thread that sealed the policy: the kernel's own C code.
 */
bool policy_caller_is_absent(void);

/* The nearest frame is library, and its file ends with one of the names. */
bool policy_caller_file_is(const char *const *suffixes, size_t count);

enum policy_said {
    SAID_AS_GLOBAL, /* `exec`, not `self.exec` */
    SAID_AT_ALL,    /* also as an attribute, or in quotes */
};

/* The nearest frame is library, and its own code says one of the names (the list ends with NULL).
 * Otherwise it only calls what it was given: functools, thread pools, DataFrame.apply() and the
 * like do that with a function, getattr(x, name) does it with a name, and the program may have
 * supplied both. */
bool policy_caller_says(const char *const *names, enum policy_said how);

/* Behind the frames of the standard library stands one of another library, and its own code says
 * one of the names, or its module has a global of that name. */
bool policy_hand_says(const char *const *names);
bool policy_hand_has(const char *name);

/* Behind the frames whose file ends with `suffix` stands one whose file has `part` in it. */
bool policy_caller_behind_is(const char *suffix, const char *part);

/* ---- enforcing (audit.c, guard.c, guard_import.c) ---- */

/* The sealed policy, or NULL; and the thread that sealed it. */
const struct policy *policy_sealed(void);
unsigned long policy_sealed_thread(void);

/* An argument of an event, borrowed; None where there is none. */
PyObject *policy_arg(PyObject *args, Py_ssize_t index);

/* Text of a str or bytes argument; false: it is something else. */
bool policy_text_arg(PyObject *args, Py_ssize_t index, struct span *ret_text);

/* Rows of the audit hook about files (audit_files.c, audit_sqlite.c). -1: refused, and the
 * exception is set. */
int policy_audit_open(const struct policy *policy, const char *event, PyObject *args);
int policy_audit_list(const struct policy *policy, const char *event, PyObject *args);
int policy_audit_change(const struct policy *policy, const char *event, PyObject *args);
int policy_audit_sqlite(const struct policy *policy, const char *event, PyObject *args);

int policy_refuse_file(const struct policy *policy, const char *event, struct span path);

/* Below a directory that the run has of its own, as the text says; the program cannot make a link
 * that leads out of it. A relative path is where the process is, wherever it was taken to. */
bool policy_is_in_workspace(struct span path);

/* A path as SQLite has made it absolute. Needs no lock of the interpreter. */
bool policy_is_database_file(struct span path);

/* The directory of this absolute path is not there, and the program cannot make it. */
bool policy_is_missing_directory(struct span path);

/* When a policy is sealed: notes where the program starts. -1: it cannot be told. */
int policy_files_begin(void);

int policy_audit_prepare(void);
int policy_walk_prepare(void);
int policy_guard_prepare(void);
int policy_guard_install(const struct policy *policy);

/* The builtins that policy_guard_install() gives programs, made in advance. A new reference, or
 * NULL. */
PyObject *policy_guard_builtins(const struct policy *policy);

/* joblib.c: in the zygote, and for a program that may not start processes. */
void policy_joblib_prepare(void);
int policy_joblib_stay_in_process(void);

/* guard_import.c: keeps the real __import__(); a new reference to the guarded one. */
int policy_guard_import_prepare(PyObject *builtins);
PyObject *policy_guard_import_new(void);

/* The text of a plain str; `*ok` is false for anything else. */
struct span policy_exact_text(PyObject *value, bool *ok);

/* The builtins that the program has: a copy of those of libraries. NULL before there is a program.
 */
PyObject *policy_program_builtins(void);

/* Libraries read attributes by text, and where the text comes from the program they do it in its
 * name: update_wrapper(assigned=), DataFrame.agg("name"), set_params(), argparse. A name that leads
 * to globals must stand in the code of the library itself. */
bool policy_name_is_given(const struct policy *policy, struct span name);

/* functools.update_wrapper() copies it. */
bool policy_attribute_is_copied(struct span name);

/* This thread is inside an import of the program that the guard has let through. */
bool policy_guard_is_importing(void);

/* Raises the exception that tells what the profile refuses. Always -1. */
int policy_refuse(const struct policy *policy, PyObject *type, const char *kind, struct span name,
                  const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* ---- small helpers ---- */

/* The UTF-8 text of a str; empty with `ok` false when it has none (lone surrogates). Runs no Python
 * code. */
static inline struct span span_of_str(PyObject *text, bool *ok)
{
    Py_ssize_t len = 0;
    const char *data = PyUnicode_AsUTF8AndSize(text, &len);

    *ok = data != NULL;
    if (!data)
        PyErr_Clear();
    return (struct span){data ? data : "", data ? (size_t)len : 0};
}

/* Behind frames of the standard library whose file ends with `stdlib_suffix` stands one of
 * `module`, which is frozen into this program. */
bool policy_caller_is_own(const char *stdlib_suffix, const char *module);
