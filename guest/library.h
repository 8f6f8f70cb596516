/* Python of ours that programs import, `api` first of all: byte code in belljar-zygote, made of
 * library/ at build time. No file of it lies where a program could change it, and to the policy
 * it is a part of the interpreter's own library. A Python that a program starts has the same
 * modules as files, which are read-only (src/sandbox/root.h). */
#pragma once

#include <Python.h>

/* Before the interpreter starts. */
void library_register(void);

/* In the zygote, when the interpreter is up: functions that need no import, named after MCP tools.
 * 0 or -1. */
int library_prepare(void);

extern const struct _frozen library_modules[]; /* made by tools/freeze.py */
