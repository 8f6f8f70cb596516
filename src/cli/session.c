/* belljar session: the sessions of a running server. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/terminal_text.h"
#include "cli/cmd.h"
#include "cli/server.h"
#include "cli/session.h"

static int help(void)
{
    (void)printf(
        "usage: belljar session list|show NAME…|rm NAME…\n"
        "       belljar session diff|apply|discard NAME [PATH]…\n"
        "       belljar session put NAME FILE… | get NAME PATH… | files NAME [PATH]\n\n"
        "List, show or remove sessions of a `belljar serve`; NAME: a name or an id.\n"
        "diff, apply and discard show, write to the disk, or drop a session's changes in\n"
        "directories granted as DIR:cow; with PATH, only the changes at or below it.\n"
        "put and get copy files to and from its /workspace, files lists them.\n\n"
        "  --stat             diff: only one line for each file\n"
        "  --version V        apply, discard: only if nothing changed since that diff\n"
        "  --with-hidden N    apply: also the N bytes that the diff did not show\n"
        "  --into DIR         put: a directory in /workspace; get: one here (- is stdout)\n"
        "  --force            apply: also overwrite files that changed on the disk;\n"
        "                     put, get: replace files that exist\n" SERVER_HELP
        "  --json             print JSON\n\n"
        "example: belljar session get agent report.csv\n");
    return 0;
}

/* --- printing --- */

/* A server is a stranger, too: nothing of it moves the cursor. */
static void print_text(const json_t *session, const char *key, int width)
{
    const char *text = json_string_value(json_object_get(session, key));
    cleanup(buf_done) struct buf out;

    buf_init(&out, 4 * KIB);
    if (text && terminal_line(text, strlen(text), &out, NULL) == 0)
        (void)printf("%-*s", width, buf_str(&out));
    else
        (void)printf("%-*s", width, "-");
}

static double number(const json_t *session, const char *key)
{
    return json_number_value(json_object_get(session, key));
}

static void print_row(const json_t *session)
{
    print_text(session, "name", 32);
    print_text(session, "state", 10);
    (void)printf("%6.0f %9.0f %9.0f  ", number(session, "cells"), number(session, "age_s"),
                 number(session, "idle_s"));
    print_text(session, "profile", 0);
    (void)printf("\n");
}

static int list(struct query *q, char **names, struct error *err)
{
    json_t *answer = NULL;
    int r = client_call(&q->client, "GET", "/v1/sessions", NULL, &answer, err);
    const json_t *sessions = json_object_get(answer, "sessions");

    (void)names;
    if (r == 0 && q->is_json)
        r = cmd_print_json(answer, err);
    else if (r == 0 && json_array_size(sessions) == 0)
        (void)fprintf(stderr, "no session is open\n");
    else if (r == 0)
        (void)printf("%-32s%-10s%6s %9s %9s  %s\n", "NAME", "STATE", "CELLS", "AGE s", "IDLE s",
                     "PROFILE");
    if (r == 0 && !q->is_json)
        for (size_t i = 0; i < json_array_size(sessions); i++)
            print_row(json_array_get(sessions, i));
    json_decref(answer);
    return r;
}

static int call_one(struct query *q, const char *method, const char *name, json_t **ret_answer,
                    struct error *err)
{
    cleanup_free char *path = client_path("/v1/sessions/", name, "");

    if (!path)
        return error_memory(err);
    if (client_call(&q->client, method, path, NULL, ret_answer, err) < 0)
        return err->code == E_NOT_FOUND ? error_wrap(err, "%s", name) : -1;
    return 0;
}

static int show(struct query *q, char **names, struct error *err)
{
    json_t *answer = NULL;
    int r = 0;

    for (; *names && r == 0; names++) {
        r = call_one(q, "GET", *names, &answer, err);
        if (r == 0)
            r = cmd_print_json(answer, err);
        json_decref(answer);
        answer = NULL;
    }
    return r;
}

static int rm(struct query *q, char **names, struct error *err)
{
    json_t *answer = NULL;

    for (; *names; names++) {
        if (call_one(q, "DELETE", *names, &answer, err) < 0)
            return -1;
        json_decref(answer);
        answer = NULL;
    }
    return 0;
}

static const struct action {
    const char *name;
    int (*run)(struct query *q, char **names, struct error *err);
    int min, max; /* names it takes; -1: any number */
} actions[] = {
    {"list", list, 0, 0},
    {"show", show, 1, -1},
    {"rm", rm, 1, -1},
    {"diff", session_changes_diff, 1, -1},
    {"apply", session_changes_apply, 1, -1},
    {"discard", session_changes_discard, 1, -1},
    {"put", session_files_put, 2, -1},
    {"get", session_files_get, 2, -1},
    {"files", session_files_list, 1, 2},
};

static const struct action *find_action(const char *word, int names, struct error *err)
{
    const struct action *action = CMD_FIND_ACTION("session", word, actions, err);

    if (!action || (names >= action->min && (action->max < 0 || names <= action->max)))
        return action;
    error_set(err, E_INVALID, "`belljar session %s` takes %s", word,
              action->max == 0   ? "no name"
              : action->min == 2 ? "the name of a session and files"
                                 : "the name of a session");
    error_hint(err, "`belljar session list` shows the names");
    return NULL;
}

/* Returns 0, or the exit code + 1 when there is nothing more to do. */
static int parse(struct query *q, struct server_place *address, int argc, char **argv)
{
    static const struct option options[] = {
        SERVER_OPTIONS,
        {"json", no_argument, NULL, 'j'},
        {"stat", no_argument, NULL, 'n'},
        {"version", required_argument, NULL, 'v'},
        {"into", required_argument, NULL, 'i'},
        {"force", no_argument, NULL, 'f'},
        {"with-hidden", required_argument, NULL, 'w'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    const struct cmd_place places[] = {
        SERVER_PLACES(address),       {'v', .word = &q->version}, {'i', .word = &q->into},
        {'w', .word = &q->hidden},    {'j', .flag = &q->is_json}, {'n', .flag = &q->is_brief},
        {'f', .flag = &q->is_forced},
    };

    return cmd_read_options(argc, argv, options, places, ARRAY_SIZE(places), help);
}

int cmd_session(int argc, char **argv)
{
    cleanup_error struct error err = {0};
    struct server_place address = {0};
    const struct action *action;
    struct query q = {0};
    int r = parse(&q, &address, argc, argv);

    if (r > 0)
        return r - 1;
    action = find_action(argv[optind], argc - optind - 1, &err);
    if (!action || server_open(&address, NULL, &q.client, &err) < 0)
        return cmd_fail(&err);
    r = action->run(&q, argv + optind + 1, &err);
    client_done(&q.client);
    return r < 0 ? server_fail(&err) : r;
}
