/* One walk over a program: what the first round gathers (policy_walk.c) and the second judges
 * (policy_judge.c). */
#pragma once

#include "guest/policy/node.h"

/* A name the program binds to a module: `import numpy as np`. */
struct binding {
    PyObject *name;   /* strong */
    PyObject *module; /* strong: full name */
    bool is_way;      /* the os of an allowed `import os.path`: a way to that part, nothing else */
};

struct walk {
    const struct policy *policy;
    struct policy_report *report;
    PyObject **nodes; /* the ones to judge, borrowed: the tree keeps them */
    size_t n_nodes, size_nodes;
    PyObject *bound;    /* set of names the program stores to */
    PyObject *handlers; /* set of names of `except ... as e` */
    struct binding *bindings;
    size_t n_bindings, size_bindings;
    PyObject **soft; /* the `x.__class__` of each `x.__class__.__name__`, borrowed */
    size_t n_soft, size_soft;
    PyObject *
        *bases; /* the `os` of each `os.path`, borrowed; sorted by address before it is searched */
    size_t n_bases, size_bases;
    PyObject
        *later[64]; /* the `m` of each `m.x` below `if hasattr(m, "x")`, borrowed; the first few */
    size_t n_later;
    bool has_way_modules; /* some name is bound to a module that is only a way to a part of it */
    bool is_text;         /* a library evaluates it, with builtins that do not look at names */
    bool is_annotation;   /* and it should name types only */
    bool is_generated;    /* and a library wrote it around names of the program */
    bool is_module;       /* of a package, perhaps: it may name others by their place */
};

/* Before the first call of policy_judge(). */
void policy_judge_prepare(struct walk *w);

/* Findings go to the report. Returns 0 or -1: then nothing may run. */
int policy_judge(struct walk *w, PyObject *node);
