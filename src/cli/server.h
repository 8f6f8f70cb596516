/* Finds the server of a command, and the token for it: one rule for all commands.
 *
 * The address is --server URL, else BELLJAR_SERVER, else the Unix socket of this user's server:
 * --socket PATH, the setting `socket`, or its usual place. The token is that of --token-file, else
 * BELLJAR_TOKEN. The Unix socket of the same user needs none.
 */
#pragma once

#include "base/config.h"
#include "base/error.h"
#include "http/client.h"

#define SERVER_TOKEN_MAX 256

/* A server's message about a missing token is meant for HTTP clients. */
#define SERVER_TOKEN_HINT "give the server's token with `--token-file FILE`, or as BELLJAR_TOKEN"

/* The words of the command line; each may be NULL. */
struct server_place {
    const char *url; /* an address, or `auto`: the Unix socket */
    const char *token_file;
    const char *socket;
};

/* Three options of every command that only talks to servers, their places, and their lines of the
 * help. */
#define SERVER_OPTIONS                                                                             \
    {"server", required_argument, NULL, 's'}, {"token-file", required_argument, NULL, 't'},        \
    {                                                                                              \
        "socket", required_argument, NULL, 'u'                                                     \
    }
#define SERVER_PLACES(place)                                                                       \
    {'s', .word = &(place)->url}, {'t', .word = &(place)->token_file},                             \
    {                                                                                              \
        'u', .word = &(place)->socket                                                              \
    }
#define SERVER_HELP                                                                                \
    "  --server URL       its address: http://, https://, unix:PATH (BELLJAR_SERVER)\n"            \
    "  --token-file FILE  file with the token for it (BELLJAR_TOKEN)\n"                            \
    "  --socket PATH      the server's Unix socket\n"

/* BELLJAR_SERVER, or NULL: it is not set. */
const char *server_of_environment(void);

/* The path of this user's Unix socket. `config` is loaded. NULL: *err says why. */
char *server_socket(const struct config *config, struct error *err);

/* `config` may be NULL: the settings are read where they are needed. client_done() afterwards. */
int server_open(const struct server_place *place, const struct config *config,
                struct client *ret_client, struct error *err);

/* Reports the failure of a command that only talks to a server; returns its exit code. */
int server_fail(struct error *err);
