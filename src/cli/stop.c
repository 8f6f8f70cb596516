/* belljar stop: ends runs and sessions of a server. */
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/cmd.h"
#include "cli/runs.h"
#include "cli/server.h"

static int help(void)
{
    (void)printf("usage: belljar stop [OPTION]… ID…\n\n"
                 "End runs, cells and sessions of a running `belljar serve`. A cell is\n"
                 "interrupted, as by Ctrl-C, and its kernel killed if that does not help; its\n"
                 "session goes on.\n"
                 "A session ends with everything that runs in it. ID may be shortened to a\n"
                 "beginning or an end that fits only one. `belljar ps` lists them.\n\n" SERVER_HELP
                 "\nexample: belljar stop 7QXA\n");
    return 0;
}

/* Returns 0, 1: it was over already, or -1. */
static int stop(const struct client *client, const char *word, struct error *err)
{
    cleanup_json json_t *answer = NULL, *body = json_object();
    cleanup_free char *path = NULL;
    struct runs_target target;

    if (runs_find(client, word, &target, err) < 0)
        return -1;
    path = target.is_session ? client_path("/v1/sessions/", target.id, "")
                             : client_path("/v1/runs/", target.id, "/cancel");
    if (!path || !body)
        return error_memory(err);
    if (client_call(client, target.is_session ? "DELETE" : "POST", path,
                    target.is_session ? NULL : body, &answer, err) < 0)
        return -1;
    if (!target.is_session && !json_is_true(json_object_get(answer, "cancelled"))) {
        (void)fprintf(stderr, "belljar: %s has already ended\n", target.id);
        return 1;
    }
    (void)printf("%s\n", target.id);
    return 0;
}

int cmd_stop(int argc, char **argv)
{
    static const struct option options[] = {
        SERVER_OPTIONS,
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    cleanup(client_done) struct client client = {0};
    struct server_place place = {0};
    const struct cmd_place places[] = {SERVER_PLACES(&place)};
    struct error err = {0};
    int code = 0, r = cmd_read_options(argc, argv, options, places, ARRAY_SIZE(places), help);

    if (r > 0)
        return r - 1;
    if (optind == argc) {
        error_set(&err, E_INVALID, "`belljar stop` needs the id of a run or session");
        error_hint(&err, "`belljar ps` lists them");
        return cmd_fail(&err);
    }
    if (server_open(&place, NULL, &client, &err) < 0)
        return server_fail(&err);
    for (; optind < argc; optind++) { /* the others are stopped, too */
        r = stop(&client, argv[optind], &err);
        if (r != 0)
            code = r < 0 ? server_fail(&err) : 1;
    }
    return code;
}
