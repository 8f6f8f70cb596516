/* belljar machine: tries virtual machines, and shows and ends that of a server. */
#include "cli/machine/machine.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/cmd.h"
#include "cli/server.h"
#include "cli/table.h"

static int help(void)
{
    (void)printf(
        "usage: belljar machine build [--machine kvm|tcg] [--config FILE] [--json]\n"
        "       belljar machine status [--json]\n"
        "       belljar machine stop\n"
        "       belljar machine log\n\n"
        "Virtual machines of `belljar serve --machine`. `build` makes one as a server\n"
        "would, runs programs in it and ends it: it proves that this host can. The\n"
        "others ask a running server about its machine: its state, and what it has\n"
        "written. `stop` ends it with its runs and sessions; the next run starts another.\n\n"
        "  --machine kvm|tcg  build: which kind; default: the setting, or kvm\n"
        "  --config FILE      build: read these settings\n"
        "  --json             print JSON\n" SERVER_HELP "\nexample: belljar machine build\n");
    return 0;
}

struct machine_command {
    struct machine_build build;
    struct server_place place;
    struct client client;
};

static int ask(const struct machine_command *command, const char *method, const char *path,
               json_t **ret_answer, struct error *err)
{
    return client_call(&command->client, method, path, NULL, ret_answer, err);
}

/* --- status --- */

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static void add_row(struct table *table, const char *label, const char *text)
{
    table_add(table, label);
    table_add(table, text);
}

static void add_state(struct table *table, const json_t *status)
{
    const char *state = json_get_text(status, "state");
    char age[TABLE_AGE_SIZE], text[128];

    if (strcmp(state, "up") == 0)
        (void)snprintf(text, sizeof(text), "up for %s, after a start of %.1f s",
                       table_age(number(status, "up_s"), age), number(status, "boot_s"));
    else if (number(status, "retry_s") > 0)
        (void)snprintf(text, sizeof(text), "%s; the next attempt is possible in %.0f s", state,
                       number(status, "retry_s"));
    else
        (void)snprintf(text, sizeof(text), "%s", state);
    add_row(table, "state", text);
}

static void add_failure(struct table *table, const json_t *failure)
{
    char age[TABLE_AGE_SIZE], text[400];

    if (!json_is_object(failure))
        return;
    (void)snprintf(text, sizeof(text), "%s ago: %s", table_age(number(failure, "ago_s"), age),
                   json_get_text(failure, "message"));
    add_row(table, "last failure", text);
    if (json_is_string(json_object_get(failure, "hint")))
        add_row(table, "hint", json_get_text(failure, "hint"));
}

static void print_status(const json_t *status)
{
    static const struct table_column columns[] = {
        {"PROPERTY", 12, false}, {"VALUE", 400, false}, {0}};
    struct table all, *table = &all;
    char size[TABLE_AGE_SIZE], text[160];

    table_init(table, columns);
    add_row(table, "kind",
            strcmp(json_get_text(status, "kind"), "tcg") == 0 ? "tcg: without KVM, for tests"
                                                              : json_get_text(status, "kind"));
    add_state(table, status);
    if (number(status, "pid") > 0)
        (void)snprintf(text, sizeof(text), "server %.0f, belljar-machine %.0f, QEMU %.0f",
                       number(status, "server_pid"), number(status, "pid"),
                       number(status, "qemu_pid"));
    else
        (void)snprintf(text, sizeof(text), "server %.0f", number(status, "server_pid"));
    add_row(table, "processes", text);
    (void)snprintf(text, sizeof(text), "%.0f MB, of which the host has given %s; %.0f processors",
                   number(status, "memory_mb"), table_size(number(status, "resident_bytes"), size),
                   number(status, "cpus"));
    add_row(table, "memory", text);
    (void)snprintf(text, sizeof(text), "%.0f; machines started: %.0f", number(status, "requests"),
                   number(status, "starts"));
    add_row(table, "requests", text);
    add_failure(table, json_object_get(status, "last_failure"));
    table_print(table, stdout, 0);
    table_done(table);
}

static int show(struct machine_command *command, struct error *err)
{
    cleanup_json json_t *status = NULL;

    if (ask(command, "GET", "/v1/machine", &status, err) < 0)
        return -1;
    if (command->build.is_json)
        return cmd_print_json(status, err);
    print_status(status);
    return 0;
}

/* --- the others --- */

static int stop(struct machine_command *command, struct error *err)
{
    cleanup_json json_t *answer = NULL;

    if (ask(command, "POST", "/v1/machine/stop", &answer, err) < 0)
        return -1;
    if (command->build.is_json)
        return cmd_print_json(answer, err);
    if (json_is_true(json_object_get(answer, "stopped")))
        return 0;
    (void)fprintf(stderr, "belljar: no virtual machine is running\n");
    return 1;
}

/* Printable, as the server says; and looked at again. */
static int show_log(struct machine_command *command, struct error *err)
{
    cleanup_json json_t *answer = NULL;
    const char *text;

    if (ask(command, "GET", "/v1/machine/log", &answer, err) < 0)
        return -1;
    if (command->build.is_json)
        return cmd_print_json(answer, err);
    for (text = json_get_text(answer, "log"); *text; text++)
        (void)putchar(*text == '\n' || *text == '\t' || (*text >= ' ' && *text <= '~') ? *text
                                                                                       : '?');
    return 0;
}

static int build(struct machine_command *command, struct error *err)
{
    return machine_build(&command->build, err);
}

static const struct action {
    const char *name;
    int (*run)(struct machine_command *command, struct error *err);
    bool is_here; /* it asks no server */
} actions[] = {
    {"build", build, true},
    {"status", show, false},
    {"stop", stop, false},
    {"log", show_log, false},
};

int cmd_machine(int argc, char **argv)
{
    static const struct option options[] = {
        SERVER_OPTIONS,
        {"machine", required_argument, NULL, 'm'},
        {"config", required_argument, NULL, 'c'},
        {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct machine_command command = {0};
    const struct cmd_place places[] = {
        SERVER_PLACES(&command.place),
        {'m', .word = &command.build.kind},
        {'c', .word = &command.build.config},
        {'j', .flag = &command.build.is_json},
    };
    cleanup_error struct error err = {0};
    const struct action *action;
    int r = cmd_read_options(argc, argv, options, places, ARRAY_SIZE(places), help);

    if (r > 0)
        return r - 1;
    action = CMD_FIND_ACTION("machine", argv[optind], actions, &err);
    if (!action)
        return cmd_fail(&err);
    if (optind + 1 < argc)
        return cmd_bad_argument("machine", argv[optind + 1]);
    if (!action->is_here && server_open(&command.place, NULL, &command.client, &err) < 0)
        return cmd_fail(&err);
    r = action->run(&command, &err);
    client_done(&command.client);
    return r < 0 ? server_fail(&err) : r;
}
