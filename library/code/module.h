/* The module _belljar_code, built into the interpreter of kernels. */
#pragma once

struct _object;

/* For PyImport_AppendInittab(). */
struct _object *code_module(void);
