/* belljar console: opens the web console of a server in the browser, with a code that works once.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/paths.h"
#include "cli/cmd.h"
#include "cli/server.h"

static int help(void)
{
    (void)printf("usage: belljar console [OPTION]…\n\n"
                 "Open the web console of a running `belljar serve` in the browser. The address\n"
                 "has a code that works once, within a minute. Over SSH, or without a browser,\n"
                 "the address is printed.\n\n"
                 "  -p, --print        print the address and open nothing\n" SERVER_HELP "\n"
                 "example: belljar console\n");
    return 0;
}

#define HOST_LETTERS                                                                               \
    "0123456789abcdefghijklmnopqrstuvwxyz"                                                         \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ.-:[]%_"

static bool is_host(const char *text)
{
    return *text && strspn(text, HOST_LETTERS) == strlen(text);
}

/* Without a scheme, a path or anything else that is not a name and a port. */
static bool is_origin(const char *text)
{
    const char *rest = strncmp(text, "https://", 8) == 0  ? text + 8
                       : strncmp(text, "http://", 7) == 0 ? text + 7
                                                          : NULL;

    return rest && is_host(rest);
}

static bool is_path(const char *text)
{
    static const char begin[] = "/console/#code=";

    return strncmp(text, begin, sizeof(begin) - 1) == 0 &&
           strspn(text + sizeof(begin) - 1, "0123456789abcdef") ==
               strlen(text) - (sizeof(begin) - 1);
}

/* The address by which the server was reached, or, over its Unix socket, the one it listens at. */
static char *origin_of(const struct client *client, const json_t *answer, struct error *err)
{
    const char *told = json_get_text(answer, "origin");
    bool has_colons = strchr(client->host.name, ':') != NULL;
    char *origin = NULL;

    if (client->socket) {
        if (is_origin(told))
            return strdup(told);
        error_set(err, E_UNSUPPORTED, "the server listens at no address that a browser can open");
        (void)error_hint(err, "start it with --listen 127.0.0.1:8222");
        return NULL;
    }
    if (!is_host(client->host.name)) {
        error_set(err, E_INVALID, "a browser cannot open the name of the server");
        return NULL;
    }
    if (asprintf(&origin, "%s://%s%s%s:%u", client->is_tls ? "https" : "http",
                 has_colons ? "[" : "", client->host.name, has_colons ? "]" : "", client->port) < 0)
        origin = NULL;
    return origin;
}

static char *address_of(const struct client *client, const json_t *answer, struct error *err)
{
    cleanup_free char *origin = NULL;
    char *address = NULL;

    if (!json_is_true(json_object_get(answer, "has_console"))) {
        error_set(err, E_NOT_FOUND, "the server has no web console");
        (void)error_hint(err, "its build has none, or `console = \"off\"` in its settings");
        return NULL;
    }
    if (!is_path(json_get_text(answer, "path"))) {
        error_set(err, E_PROTOCOL, "the server gave no address of its console");
        return NULL;
    }
    origin = origin_of(client, answer, err);
    if (!origin)
        return NULL;
    if (asprintf(&address, "%s%s", origin, json_get_text(answer, "path")) < 0)
        address = NULL;
    return address;
}

static bool is_set(const char *name)
{
    const char *value = getenv(name);

    return value && *value;
}

/* A browser of this machine is not in front of who sits at another one. */
static bool is_remote(void)
{
    return is_set("SSH_CONNECTION") || is_set("SSH_TTY");
}

static bool has_browser(void)
{
    return !is_remote() && (is_set("DISPLAY") || is_set("WAYLAND_DISPLAY") || is_set("BROWSER"));
}

/* Everybody on this machine may read the words with which a program is started, and who gives the
 * code first gets the token. So the browser gets a file that only this user can read, and that
 * sends it to the address. Its code is used up soon, and the next one takes its place. */
static char *write_page(const char *address)
{
    cleanup(buf_done) struct buf page = BUF_OF(4 * KIB);
    cleanup_error struct error err = {0};
    char *path = NULL;

    if (buf_printf(&page, NULL,
                   "<!doctype html>\n<meta charset=\"utf-8\">\n<title>Belljar</title>\n"
                   "<meta name=\"referrer\" content=\"no-referrer\">\n"
                   "<meta http-equiv=\"refresh\" content=\"0;url=%s\">\n",
                   address) < 0)
        return NULL;
    path = paths_runtime("console.html", &err);
    if (path && file_replace(path, page.data, page.len, &err) < 0)
        free(take_ptr(path));
    return path;
}

static bool open_browser(const char *address)
{
    cleanup_free char *page = write_page(address);
    char *const words[] = {"xdg-open", page, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status, r;

    if (!page || posix_spawn_file_actions_init(&actions) != 0)
        return false;
    (void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    (void)posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    (void)posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    r = posix_spawnp(&pid, words[0], &actions, NULL, words, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (r != 0)
        return false;
    while ((r = waitpid(pid, &status, 0)) < 0 && errno == EINTR)
        ;
    return r == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The port of an address of loopback; 0: it is another one. */
static unsigned loopback_port(const char *address)
{
    static const char *const names[] = {"http://127.0.0.1:", "http://localhost:", "http://[::1]:"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strncmp(address, names[i], strlen(names[i])) == 0)
            return (unsigned)strtoul(address + strlen(names[i]), NULL, 10);
    return 0;
}

static void print_address(const char *address)
{
    unsigned port = loopback_port(address);
    char host[256] = "HOST";

    (void)printf("%s\n", address);
    (void)fflush(stdout);
    (void)fprintf(stderr, "the address works once, within a minute\n");
    if (!is_remote() || !port)
        return;
    (void)gethostname(host, sizeof(host) - 1);
    (void)fprintf(stderr,
                  "to open it on your own machine, first type there:\n"
                  "  ssh -L %u:127.0.0.1:%u %s\n",
                  port, port, host);
}

int cmd_console(int argc, char **argv)
{
    static const struct option options[] = {
        SERVER_OPTIONS,
        {"print", no_argument, NULL, 'p'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    cleanup(client_done) struct client client = {0};
    cleanup_json json_t *answer = NULL, *body = json_object();
    cleanup_free char *address = NULL;
    struct server_place place = {0};
    bool only_prints = false;
    const struct cmd_place places[] = {SERVER_PLACES(&place), {'p', .flag = &only_prints}};
    struct error err = {0};
    int r = cmd_read_letters(argc, argv, ":ph", options, places, ARRAY_SIZE(places), help);

    if (r > 0)
        return r - 1;
    if (optind < argc)
        return cmd_bad_argument("console", argv[optind]);
    if (server_open(&place, NULL, &client, &err) < 0 ||
        client_call(&client, "POST", "/v1/console/codes", body, &answer, &err) < 0)
        return server_fail(&err);
    address = address_of(&client, answer, &err);
    if (!address) {
        if (err.code == E_NONE)
            error_memory(&err);
        return cmd_fail(&err);
    }
    if (only_prints || !has_browser() || !open_browser(address))
        print_address(address);
    else
        (void)fprintf(stderr, "opened in the browser; if it shows an error, use "
                              "`belljar console --print`\n");
    return 0;
}
