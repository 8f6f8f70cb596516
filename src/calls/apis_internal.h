/* Shared by apis.c (the list) and apis_found.c (what this host adds to it). */
#pragma once

#include "calls/apis.h"

/* "servers.x" is about "servers", "servers.x", "x", "servers.x.tool" and "x.tool". */
bool apis_is_about(const char *wanted, const char *module);

#define APIS_GROUPS 3

/* Modules of one kind, of the shape that apis.h describes. Where nothing is wanted, names are
 * enough. */
struct apis_group {
    const char *name;   /* in the list */
    const char *prefix; /* of its modules, which the list leaves out */
    void (*add)(const struct apis_place *place, const char *wanted, json_t *modules);
};

extern const struct apis_group apis_groups[APIS_GROUPS];
