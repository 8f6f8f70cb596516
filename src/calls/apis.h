/* Lists what programs can import and call: names, then signatures, then help with an example, so
 * that a model reads no more than it needs.
 *
 * For our own modules the text is generated from them (tools/gen-apis.py). Further sources have a
 * row in the table of apis.c and add modules of the same shape.
 */
#pragma once

#include "calls/stored.h"

/* {"detail": "names", "signatures" or "full", "name": a module, a function, or both}:
 *
 *     names       {"apis": {MODULE: [NAME, ...]}}
 *     signatures  {"apis": {MODULE: {"description", "functions": [SIGNATURE, ...]}},
 * "example_usage"} full        {"apis": {MODULE: {"description", "functions": [{"signature",
 * "help", "example"}]}}}
 *
 * Signatures without a detail; `full` takes a name. */
int apis_list(const struct stored *who, const json_t *arguments, json_t **ret_value,
              struct error *err);

/* The shape of what a source adds: {MODULE: {"description", "functions": {NAME: {"signature",
 * "help", "example"}}}}. */
extern const char apis_own[]; /* JSON, made at build time */
