/* [functions.NAME] of the file: programs of the operator's that sandboxes may call, as functions of
 * `servers.host` (upstream/host.c). */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "base/config_server.h"
#include "base/error.h"

#define CONFIG_FUNCTIONS_MAX 64

/* The server whose tools they are. */
#define CONFIG_HOST "host"

struct config_function {
    char *name;
    char *description;
    json_t *schema; /* of the arguments: base/json_schema.h */
    char **argv;    /* of a command; `{name}` stands for an argument */
    char *request;  /* or of a request: "GET https://host/path/{name}" */
    char **headers; /* of the request: "Name: value" */
    char *session;  /* the argument that says which session calls, or NULL */
    char **callers; /* profiles and owners that may, or NULL: all */
    char *severity; /* "read_only", "low", "medium", "high", "destructive" */
    double timeout_s;
    double per_minute; /* 0: as often as it likes */
    enum config_consent consent;
};

int config_function_read(struct config_function *function, const char *path, const json_t *lines,
                         const char *name, json_t *table, struct error *err);
void config_function_done(struct config_function *function);

/* May a program of that profile and owner call it? */
bool config_function_serves(const struct config_function *function, const char *profile,
                            const char *owner);
