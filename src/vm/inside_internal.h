/* Shared by inside_answer.c and inside_live.c. */
#pragma once

#include "vm/inside.h"

/* From the result, what did not come while the program ran. */
void inside_take_streams(struct run *run, struct inside_live *live, const json_t *object);
void inside_take_displays(struct run *run, const struct inside_live *live, const json_t *forms);
