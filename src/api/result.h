/* A finished run in the shapes the doors give out: the native JSON object, and lines for a person
 * at a terminal. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "base/hint.h"
#include "base/run.h"

/* The result object, with hints for that reader. The caller owns *ret_object. Only for runs whose
 * `error` is empty. */
int result_json(const struct run *run, enum hint_reader reader, json_t **ret_object,
                struct error *err);

/* Adds what a run that is not over has written so far, bounded as in its result. */
void result_add_output(const struct run *run, json_t *object);

/* Information for a person beside the program's own output, for stderr: violations, the exception,
 * the value of `result`, a hint, and the status line with time and memory. */
int result_human(const struct run *run, bool has_color, struct buf *out, struct error *err);

/* One plain line for each refusal that the status does not tell. */
int result_add_denials(const struct run *run, struct buf *text, struct error *err);

/* Of that only the hint and what was refused: the program's own output does not have those. */
int result_brief(const struct run *run, bool has_color, struct buf *out, struct error *err);

/* For a cell at a prompt, where success needs no message: the status line appears only if nothing
 * else shows how the cell ended. */
int result_cell(const struct run *run, bool has_color, struct buf *out, struct error *err);
