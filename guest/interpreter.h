/* The interpreter in a kernel: what a fork of the warm one does before a program runs. */
#pragma once

#include "base/error.h"
#include "wire/message.h"

/* Adds to the end of sys.path. */
int interpreter_append_paths(const struct wire_strings *paths, struct error *err);

/* sys._belljar_helpers: directories of the operator's modules. */
int interpreter_name_helpers(const struct wire_strings *paths, struct error *err);

/* Before the first fork: where the generators of random numbers keep their state. */
void interpreter_find_generators(void);

/* Tells libraries that are loaded what they would start a program to find out: the number of
 * processors, for which joblib runs lscpu, and complains where that is refused. */
void interpreter_tell_libraries(void);

/* In a forked child that is to run Python: gives every generator of random numbers a seed of its
 * own. */
void interpreter_wake(void);

/* Like interpreter_wake(), in a copy of a session. */
void interpreter_wake_copy(void);

/* Runs the warm-up lines, so that the memory they write is this process's own before anybody waits
 * for it. */
void interpreter_touch(void);

/* "NAME=value", in both worlds: the C library's for bash and child processes, os.environ for
 * Python.
 */
int interpreter_set_variable(struct span variable, struct error *err);

/* At the level `process` the workspace is a directory of the host: sys.path and the variables that
 * name it follow. */
int interpreter_move_home(struct error *err);

/* Modules of the working directory are found, after all others. */
int interpreter_add_workdir(struct error *err);

/* Its modules are the project's, for the policy; nothing of it can be imported. */
int interpreter_know_project(struct error *err);

/* The program's file lies in a granted directory: `__file__` names it, and modules next to it can
 * be imported. `is_first`: as in Python, they come before those of the library. */
int interpreter_set_script(struct span path, bool is_first, struct error *err);

/* If the environment names a directory of the program's own packages, they are found, after all
 * others. */
int interpreter_add_packages(struct error *err);

/* And some of them are installed when they are first imported (library/api/_packages.py). */
int interpreter_install_packages(struct error *err);

/* Programs of a session know it as `session_id`: what SESSION_ID says, if it says anything. */
int interpreter_name_session(struct error *err);

/* `random` begins with that. */
void interpreter_seed(uint64_t seed);
