/* Python of ours that programs import, `api` first of all: byte code in belljar-zygote, made of
 * guest/pylib/ at build time. No file of it lies where a program could change it, and to the policy
 * it is a part of the interpreter's own library. */
#pragma once

#include <Python.h>

/* Before the interpreter starts. */
void library_register(void);

extern const struct _frozen library_modules[]; /* made by tools/freeze.py */
