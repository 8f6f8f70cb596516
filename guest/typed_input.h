/* Standard input of a program that a person runs at a terminal (library/_belljar_typed.py). */
#pragma once

#include "base/span.h"

/* In the warm interpreter. Returns 0 or -1 with an exception. */
int typed_input_load(void);

/* The program or cell that follows asks for lines when it wants them. */
void typed_input_begin(struct span code);
