/* Lists what programs can import and call: names, then signatures, then help with an example, so
 * that a model reads no more than it needs.
 *
 * For our own modules the text is generated from them (tools/gen-apis.py). The operator's helpers,
 * other MCP servers and skills have their names in the list, and are described when they are asked
 * for by name.
 */
#pragma once

#include "calls/stored.h"
#include "upstream/upstream.h"

struct outside; /* calls/outside.h */

struct apis_place {
    struct stored stored;
    const struct outside *outside; /* NULL: there are neither helpers nor servers */
};

/* {"detail": "names", "signatures" or "full", "name": a module, a function, or both}:
 *
 *     names       {"apis": {MODULE: [NAME, ...]}}
 *     signatures  {"apis": {MODULE: {"description", "functions": [SIGNATURE, ...]}},
 *                  "example_usage"}
 *     full        {"apis": {MODULE: {"description", "functions": [{"signature", "help",
 *                  "example"}]}}}
 *
 * Without a name also "helpers", "servers" and "skills", arrays of names, where there are any.
 * Signatures without a detail; `full` takes a name. */
int apis_list(const struct apis_place *place, const json_t *arguments, json_t **ret_value,
              struct error *err);

/* The server whose tools have to be known first, because the name is about it: then the caller
 * starts with apis_ask(). -1: none. */
int apis_server(const struct apis_place *place, const json_t *arguments);
struct upstream_call *apis_ask(const struct apis_place *place, int server, upstream_done done,
                               void *user, struct error *err);

/* Of a directory's entry, the length of its module's name: "code_helpers.py" and "acme" are
 * modules, one that begins with `_` is nobody's to import. 0: it is none. */
size_t apis_module_len(const char *entry);

/* The shape of our own: {MODULE: {"description", "functions": {NAME: {"signature", "help",
 * "example"}}}}. */
extern const char apis_own[]; /* JSON, made at build time */
