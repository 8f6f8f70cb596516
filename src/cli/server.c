#include "cli/server.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/paths.h"
#include "cli/cmd.h"

const char *server_of_environment(void)
{
    const char *url = getenv("BELLJAR_SERVER");

    return url && *url ? url : NULL;
}

char *server_socket(const struct config *config, struct error *err)
{
    bool is_set = *config->socket && strcmp(config->socket, "none") != 0;
    char *path = is_set ? strdup(config->socket) : paths_runtime("http.sock", err);

    if (!path && is_set)
        error_memory(err);
    return path;
}

/* One line, of a file. */
static int read_token(const char *path, char token[SERVER_TOKEN_MAX], struct error *err)
{
    int r = file_read(AT_FDCWD, path, token, SERVER_TOKEN_MAX);

    if (r >= 0)
        return 0;
    error_set(err, E_INVALID, "--token-file `%s`: %s", path, strerror(-r));
    return error_hint(err, "it must contain one token, and you need permission to read it");
}

static int open_client(const struct server_place *place, const char *url, const char *socket,
                       struct client *ret_client, struct error *err)
{
    char token[SERVER_TOKEN_MAX];
    int r;

    if (!place->token_file)
        return client_init(ret_client, url, socket, getenv("BELLJAR_TOKEN"), err);
    if (read_token(place->token_file, token, err) < 0)
        return -1;
    r = client_init(ret_client, url, socket, token, err);
    explicit_bzero(token, sizeof(token));
    return r;
}

/* The usual socket, by the settings. */
static char *find_socket(const struct config *config, struct error *err)
{
    cleanup(config_free_p) struct config *own = NULL;

    if (config)
        return server_socket(config, err);
    own = config_new();
    if (!own)
        error_memory(err);
    return own && config_load(own, NULL, err) == 0 ? server_socket(own, err) : NULL;
}

int server_open(const struct server_place *place, const struct config *config,
                struct client *ret_client, struct error *err)
{
    const char *url = place->url;
    cleanup_free char *usual = NULL;

    if (!url && !place->socket)
        url = server_of_environment();
    if (url && strcmp(url, "auto") == 0)
        url = NULL;
    if (url || place->socket)
        return open_client(place, url, place->socket, ret_client, err);
    usual = find_socket(config, err);
    return usual ? open_client(place, NULL, usual, ret_client, err) : -1;
}

int server_fail(struct error *err)
{
    if (err->code == E_AUTH)
        (void)error_hint(err, SERVER_TOKEN_HINT);
    return cmd_fail(err);
}
