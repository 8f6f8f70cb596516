/* [servers.NAME] of the file: other MCP servers whose tools programs may call
 * (upstream/upstream.h).
 *
 * Either a command, which is started when it is first needed, or a URL.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/error.h"

#define CONFIG_SERVERS_MAX     32
#define CONFIG_SERVER_NAME_MAX 32

struct config_function; /* base/config_function.h */

/* The rule for calls of a tool. AUTO: allowed if the tool declares that it only reads, else
 * approval is needed. */
enum config_consent { CONFIG_AUTO, CONFIG_ALLOW, CONFIG_ASK, CONFIG_DENY };

enum config_era { CONFIG_ERA_AUTO, CONFIG_ERA_LEGACY, CONFIG_ERA_MODERN };

/* All arrays end with NULL; the strings belong to the configuration. */
struct config_server {
    char *name;     /* a lower-case Python identifier: programs import it */
    char **argv;    /* of a command; NULL: it has a URL */
    char **env;     /* "NAME=value" */
    char *cwd;      /* NULL: the root directory */
    char *url;      /* http:// or https:// */
    char **headers; /* "Name: value" */
    double timeout_s;
    double approval_s; /* how long a question for approval stands */
    enum config_era era;
    json_t *tools;                     /* name -> enum config_consent; "*" for the others */
    struct config_function *functions; /* of the server `host`, which is no other program */
    size_t n_functions;
};

/* Fills *server from its table. `lines` as of toml_line(). What a weaker file said of the server is
 * forgotten: half a command of one file and half of another is nobody's wish. */
int config_server_read(struct config_server *server, const char *path, const json_t *lines,
                       const char *name, json_t *table, struct error *err);
void config_server_done(struct config_server *server);

/* The rule that the file has for that tool. */
enum config_consent config_server_consent(const struct config_server *server, const char *tool);
