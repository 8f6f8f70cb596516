/* belljar ps: what a server runs, and what it keeps. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/cmd.h"
#include "cli/runs.h"
#include "cli/server.h"
#include "cli/table.h"

static int help(void)
{
    (void)printf("usage: belljar ps [OPTION]…\n\n"
                 "List the runs, cells, commands and sessions of a running `belljar serve`:\n"
                 "yours, not those of other tokens. `belljar logs ID` shows the output of a run,\n"
                 "`belljar stop ID` ends it.\n\n"
                 "  -a, --all          also finished runs, as long as the server keeps them\n"
                 "  --json             print JSON\n" SERVER_HELP "\n"
                 "example: belljar ps --all\n");
    return 0;
}

static const char *text_of(const json_t *item, const char *key)
{
    return json_string_value(json_object_get(item, key));
}

static const char *kind_of(const json_t *run)
{
    if (!text_of(run, "session_id"))
        return "run";
    return strcmp(json_get_text(run, "language"), "command") == 0 ? "command" : "cell";
}

static void add_row(struct table *table, const json_t *item, bool is_session)
{
    char age[TABLE_AGE_SIZE];

    table_add(table, text_of(item, is_session ? "session_id" : "id"));
    table_add(table, is_session ? "session" : kind_of(item));
    table_add(table, text_of(item, "state"));
    table_add(table, is_session ? NULL : text_of(item, "language"));
    table_add(table, table_age(json_number_value(json_object_get(item, "age_s")), age));
    table_add(table, text_of(item, "owner"));
    table_add(table, text_of(item, is_session ? "name" : "code"));
}

static void print_table(const json_t *all)
{
    static const struct table_column columns[] = {
        {"ID", 63, false},
        {"KIND", 0, false},
        {"STATE", 16, false},
        {"LANGUAGE", 16, false},
        {"AGE", 0, true},
        {"OWNER", 32, false},
        {"CODE OR NAME", 80, false},
        {0},
    };
    struct table table;
    json_t *item;
    size_t i;

    table_init(&table, columns);
    json_array_foreach(json_object_get(all, "sessions"), i, item)
    {
        add_row(&table, item, true);
    }
    json_array_foreach(json_object_get(all, "runs"), i, item)
    {
        add_row(&table, item, false);
    }
    table_print(&table, stdout, table_width(STDOUT_FILENO));
    table_done(&table);
}

int cmd_ps(int argc, char **argv)
{
    static const struct option options[] = {
        SERVER_OPTIONS,
        {"all", no_argument, NULL, 'a'},
        {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    cleanup(client_done) struct client client = {0};
    cleanup_json json_t *all = NULL;
    struct server_place place = {0};
    bool is_all = false, is_json = false;
    const struct cmd_place places[] = {
        SERVER_PLACES(&place), {'a', .flag = &is_all}, {'j', .flag = &is_json}};
    struct error err = {0};
    int r = cmd_read_letters(argc, argv, ":ah", options, places, ARRAY_SIZE(places), help);

    if (r > 0)
        return r - 1;
    if (optind < argc)
        return cmd_bad_argument("ps", argv[optind]);
    if (server_open(&place, NULL, &client, &err) < 0 ||
        runs_list(&client, is_all, &all, &err) < 0 || (is_json && cmd_print_json(all, &err) < 0))
        return server_fail(&err);
    if (is_json)
        return 0;
    if (json_array_size(json_object_get(all, "runs")) ||
        json_array_size(json_object_get(all, "sessions")))
        print_table(all);
    else
        (void)fprintf(stderr, "nothing is running%s\n",
                      is_all ? "" : "; `belljar ps --all` also lists finished runs");
    return 0;
}
