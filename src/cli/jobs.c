/* belljar jobs: the durable jobs of a running server. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/cmd.h"
#include "cli/output_sink.h"
#include "cli/server.h"
#include "cli/table.h"

static int help(void)
{
    (void)printf(
        "usage: belljar jobs list|show ID…|wait ID…|result ID|cancel ID…|rm ID…\n\n"
        "List the durable jobs of a running `belljar serve`, wait for their end, print\n"
        "the output of one, cancel them, or delete those that are over. `belljar run\n"
        "--job` submits one, `belljar logs -f ID` follows its output. `wait` exits with 1\n"
        "if a job did not end with success.\n\n"
        "  --state STATE      list: waiting, running, done, failed, lost or cancelled\n"
        "  --json             print JSON\n" SERVER_HELP
        "\nexample: belljar jobs wait $(belljar run --job train.py)\n");
    return 0;
}

struct jobs_command {
    struct client client;
    const char *state;
    bool is_json;
};

static const char *text_of(const json_t *item, const char *key)
{
    return json_string_value(json_object_get(item, key));
}

static int call(struct jobs_command *command, const char *method, const char *id, const char *after,
                const json_t *body, json_t **ret_answer, struct error *err)
{
    cleanup_free char *path = client_path("/v1/jobs/", id, after);

    if (!path)
        return error_memory(err);
    if (client_call(&command->client, method, path, body, ret_answer, err) < 0)
        return err->code == E_NOT_FOUND || err->code == E_INVALID ? error_wrap(err, "%s", id) : -1;
    return 0;
}

/* --- listing --- */

static void print_table(const json_t *jobs)
{
    static const struct table_column columns[] = {
        {"ID", 63, false},
        {"STATE", 16, false},
        {"OUTCOME", 16, false},
        {"ATTEMPTS", 0, true},
        {"CREATED", 32, false},
        {"EXPIRES", 32, false},
        {0},
    };
    struct table table;
    json_t *item;
    size_t i;

    table_init(&table, columns);
    json_array_foreach(jobs, i, item)
    {
        table_add(&table, text_of(item, "id"));
        table_add(&table, text_of(item, "state"));
        table_add(&table, text_of(item, "outcome"));
        table_addf(&table, "%.0f/%.0f", json_number_value(json_object_get(item, "attempts")),
                   json_number_value(json_object_get(item, "max_attempts")));
        table_add(&table, text_of(item, "created_at"));
        table_add(&table, text_of(item, "expires_at"));
    }
    table_print(&table, stdout, table_width(STDOUT_FILENO));
    table_done(&table);
}

static int list(struct jobs_command *command, char **ids, struct error *err)
{
    cleanup_free char *path = client_path("/v1/jobs?limit=1000", "", "");
    cleanup_free char *with_state =
        command->state ? client_path("/v1/jobs?limit=1000&state=", command->state, "") : NULL;
    cleanup_json json_t *answer = NULL;
    const json_t *jobs;

    (void)ids;
    if (!path || (command->state && !with_state))
        return error_memory(err);
    if (client_call(&command->client, "GET", with_state ? with_state : path, NULL, &answer, err) <
        0)
        return -1;
    jobs = json_object_get(answer, "jobs");
    if (command->is_json)
        return cmd_print_json(answer, err);
    if (json_array_size(jobs))
        print_table(jobs);
    else
        (void)fprintf(stderr, "there are no jobs; `belljar run --job` submits one\n");
    return 0;
}

static int show(struct jobs_command *command, char **ids, struct error *err)
{
    for (; *ids; ids++) {
        cleanup_json json_t *job = NULL;

        if (call(command, "GET", *ids, "", NULL, &job, err) < 0 || cmd_print_json(job, err) < 0)
            return -1;
    }
    return 0;
}

/* --- waiting --- */

static bool is_over(const json_t *job)
{
    const char *state = json_get_text(job, "state");

    return strcmp(state, "waiting") != 0 && strcmp(state, "running") != 0;
}

static int wait_one(struct jobs_command *command, const char *id, json_t **ret_job,
                    struct error *err)
{
    json_t *job = NULL;

    do {
        json_decref(take_ptr(job));
        if (call(command, "GET", id, "?wait_s=30", NULL, &job, err) < 0)
            return -1;
    } while (!is_over(job));
    *ret_job = job;
    return 0;
}

static bool is_success(const json_t *job)
{
    return strcmp(json_get_text(job, "state"), "done") == 0 &&
           strcmp(json_get_text(job, "outcome"), "success") == 0;
}

static int wait_for(struct jobs_command *command, char **ids, struct error *err)
{
    cleanup_json json_t *over = json_array();
    int code = 0;

    for (; *ids; ids++) {
        json_t *job = NULL;

        if (wait_one(command, *ids, &job, err) < 0)
            return -1;
        code |= !is_success(job);
        if (json_array_append_new(over, job) < 0)
            return error_memory(err);
    }
    if (command->is_json)
        return cmd_print_json(over, err) < 0 ? -1 : code;
    print_table(over);
    return code;
}

/* --- one result --- */

/* The streams as the program wrote them, on ours. */
static int result(struct jobs_command *command, char **ids, struct error *err)
{
    static const char *const names[] = {"stdout", "stderr"};
    static const int fds[] = {STDOUT_FILENO, STDERR_FILENO};
    cleanup_json json_t *answer = NULL;

    if (call(command, "GET", *ids, "/result", NULL, &answer, err) < 0)
        return err->code == E_INVALID
                   ? error_hint(err, "`belljar jobs wait ID` waits for its end, "
                                     "`belljar jobs show ID` tells what happened")
                   : -1;
    if (command->is_json)
        return cmd_print_json(answer, err);
    for (int i = 0; i < 2; i++) {
        const json_t *text = json_object_get(answer, names[i]);
        const struct run_event event = {.kind = i ? RUN_EVENT_STDERR : RUN_EVENT_STDOUT,
                                        .data = json_string_value(text),
                                        .len = json_string_length(text)};
        struct output_sink sink;
        int r = 0;

        output_sink_init(&sink, fds[i], "auto");
        if (event.len && output_sink_pass(&sink, &event) < 0)
            r = output_sink_check(&sink, names[i], err);
        output_sink_done(&sink);
        if (r < 0)
            return -1;
    }
    return 0;
}

/* --- ending and deleting --- */

static int cancel(struct jobs_command *command, char **ids, struct error *err)
{
    cleanup_json json_t *body = json_object();
    int code = 0;

    for (; *ids; ids++) {
        cleanup_json json_t *answer = NULL;

        if (call(command, "POST", *ids, "/cancel", body, &answer, err) < 0)
            return -1;
        if (!json_is_true(json_object_get(answer, "cancelled"))) {
            (void)fprintf(stderr, "belljar: %s has already ended\n", *ids);
            code = 1;
        }
    }
    return code;
}

static int rm(struct jobs_command *command, char **ids, struct error *err)
{
    for (; *ids; ids++) {
        cleanup_json json_t *answer = NULL;

        if (call(command, "DELETE", *ids, "", NULL, &answer, err) < 0)
            return err->code == E_INVALID
                       ? error_hint(err, "cancel it first: `belljar jobs cancel ID`")
                       : -1;
    }
    return 0;
}

static const struct action {
    const char *name;
    int (*run)(struct jobs_command *command, char **ids, struct error *err);
    int min, max; /* ids it takes; -1: any number */
} actions[] = {
    {"list", list, 0, 0},     {"show", show, 1, -1},     {"wait", wait_for, 1, -1},
    {"result", result, 1, 1}, {"cancel", cancel, 1, -1}, {"rm", rm, 1, -1},
};

static const struct action *find_action(const char *word, char **ids, int count, struct error *err)
{
    const struct action *action = CMD_FIND_ACTION("jobs", word, actions, err);

    if (!action)
        return NULL;
    for (int i = 0; i < count; i++)
        if (!client_is_id(ids[i])) {
            error_set(err, E_INVALID, "`%.40s` is not the id of a job", ids[i]);
            return NULL;
        }
    if (count >= action->min && (action->max < 0 || count <= action->max))
        return action;
    error_set(err, E_INVALID, "`belljar jobs %s` takes %s", word,
              action->max == 0   ? "no id"
              : action->max == 1 ? "the id of one job"
                                 : "ids of jobs");
    error_hint(err, action->max == 0 ? "`belljar jobs show ID` shows one job"
                                     : "`belljar jobs list` shows them");
    return NULL;
}

int cmd_jobs(int argc, char **argv)
{
    static const struct option options[] = {
        SERVER_OPTIONS,
        {"state", required_argument, NULL, 'x'},
        {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct jobs_command command = {0};
    struct server_place place = {0};
    const struct cmd_place places[] = {
        SERVER_PLACES(&place), {'x', .word = &command.state}, {'j', .flag = &command.is_json}};
    cleanup_error struct error err = {0};
    const struct action *action;
    int r = cmd_read_options(argc, argv, options, places, ARRAY_SIZE(places), help);

    if (r > 0)
        return r - 1;
    action = find_action(argv[optind], argv + optind + (optind < argc), argc - optind - 1, &err);
    if (!action || server_open(&place, NULL, &command.client, &err) < 0)
        return cmd_fail(&err);
    r = action->run(&command, argv + optind + 1, &err);
    client_done(&command.client);
    return r < 0 ? server_fail(&err) : r;
}
