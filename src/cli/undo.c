/* belljar undo: takes back what a run changed in directories granted for writing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/undo.h"
#include "base/cleanup.h"
#include "base/config.h"
#include "base/id.h"
#include "base/json.h"
#include "base/terminal_text.h"
#include "cli/cmd.h"
#include "cli/short_id.h"
#include "undo/store.h"

struct wish {
    struct config *config;
    bool is_json, is_dry, is_list;
};

static int help(void)
{
    (void)printf("usage: belljar undo {RUN | last} [--dry-run] [--json]\n"
                 "       belljar undo --list [--json]\n\n"
                 "Undo what a run changed in directories granted with `:rw`. Files that changed\n"
                 "again since the run are left alone and reported. An undo is recorded as well;\n"
                 "use its id to undo it. RUN may be shortened to a beginning or an end that fits\n"
                 "only one run; `last` is the newest run that is not undone.\n\n"
                 "  --dry-run      show what would be done, and change nothing\n"
                 "  --list         list the runs that can be undone, newest first\n"
                 "  --json         print JSON\n\n"
                 "example:\n"
                 "  belljar undo --dry-run last\n");
    return 0;
}

/* Names are a program's. */
static void print_text(FILE *out, const json_t *text)
{
    cleanup(buf_done) struct buf shown = {0};
    const char *bytes = json_string_value(text);

    buf_init(&shown, 8 * (json_string_length(text) + 8));
    if (bytes && terminal_exact_line(bytes, json_string_length(text), &shown, NULL) == 0)
        (void)fprintf(out, "%s", buf_str(&shown));
}

static void print_item(FILE *out, const json_t *item)
{
    (void)fprintf(out, "%s ", json_string_value(json_object_get(item, "action")));
    print_text(out, json_object_get(item, "path"));
    if (json_object_get(item, "to")) {
        (void)fprintf(out, " -> ");
        print_text(out, json_object_get(item, "to"));
    }
}

static long long number(const json_t *object, const char *key)
{
    return (long long)json_integer_value(json_object_get(object, key));
}

static void print_answer(const json_t *answer)
{
    const json_t *done = json_object_get(answer, "done");
    const json_t *conflicts = json_object_get(answer, "conflicts");
    const char *undo = json_string_value(json_object_get(answer, "undo"));
    bool is_dry = json_is_true(json_object_get(answer, "dry_run"));

    for (size_t i = 0; i < json_array_size(done); i++) {
        (void)printf("%s", is_dry ? "would be " : "");
        print_item(stdout, json_array_get(done, i));
        (void)printf("\n");
    }
    for (size_t i = 0; i < json_array_size(conflicts); i++) {
        (void)printf("left alone, not ");
        print_item(stdout, json_array_get(conflicts, i));
        (void)printf(": ");
        print_text(stdout, json_object_get(json_array_get(conflicts, i), "reason"));
        (void)printf("\n");
    }
    (void)fflush(stdout);
    if (json_is_true(json_object_get(answer, "already_undone")))
        (void)fprintf(stderr, "already undone\n");
    else
        (void)fprintf(stderr, "%lld change%s %s undone, %lld left alone\n",
                      number(answer, "n_done"), number(answer, "n_done") == 1 ? "" : "s",
                      is_dry                          ? "would be"
                      : number(answer, "n_done") == 1 ? "was"
                                                      : "were",
                      number(answer, "n_conflicts"));
    if (undo)
        (void)fprintf(stderr, "to undo that: belljar undo %s\n", undo);
}

static int undo(const struct wish *wish, const char *run, struct error *err)
{
    const struct recorder_options options = {
        .config = wish->config, .is_brief = true, .on_note = cmd_note};
    struct undo_wish what = {.run = run, .is_dry = wish->is_dry, .config = wish->config};
    json_t *answer = NULL;
    int r;

    if (!wish->is_dry && recorder_open(&options, &what.recorder, err) < 0)
        return -1;
    r = undo_do(&what, &answer, err);
    recorder_close(what.recorder);
    if (r == 0 && wish->is_json)
        r = cmd_print_json(answer, err);
    else if (r == 0)
        print_answer(answer);
    if (r == 0 && number(answer, "n_conflicts"))
        r = 1;
    json_decref(answer);
    return r;
}

/* --- which run --- */

#define WHOLE_ID_LEN (ID_PLAIN_SIZE - 1)

/* The newest that changed something, is over, and is neither undone nor an undo itself. */
static const char *last_of(const json_t *runs)
{
    for (size_t i = 0; i < json_array_size(runs); i++) {
        const json_t *run = json_array_get(runs, i);

        if (!json_string_value(json_object_get(run, "undoes")) &&
            !json_is_true(json_object_get(run, "undone")) &&
            !json_is_true(json_object_get(run, "is_running")) &&
            !json_is_true(json_object_get(run, "removed_for_space")))
            return json_string_value(json_object_get(run, "run"));
    }
    return NULL;
}

static int find_last(const json_t *runs, char id[static SHORT_ID_SIZE], struct error *err)
{
    const char *last = last_of(runs);

    if (!last) {
        error_set(err, E_NOT_FOUND, "there is no run to undo");
        return error_hint(err, "`belljar undo --list` shows what can be undone");
    }
    (void)snprintf(id, SHORT_ID_SIZE, "%s", last);
    (void)fprintf(stderr, "the last run is %s\n", id);
    return 0;
}

/* A word that fits nothing stays as it is: the undo says so, and records it. */
static int find_run(const char *word, char id[static SHORT_ID_SIZE], struct error *err)
{
    cleanup(short_id_done) struct short_id search = {.word = word};
    cleanup_json json_t *runs = NULL;
    int found;

    (void)snprintf(id, SHORT_ID_SIZE, "%s", word);
    if (!*word || strlen(word) >= WHOLE_ID_LEN)
        return 0;
    if (undo_store_list(NULL, &runs, err) < 0)
        return -1;
    if (strcmp(word, "last") == 0)
        return find_last(runs, id, err);
    for (size_t i = 0; i < json_array_size(runs); i++)
        (void)short_id_try(&search,
                           json_string_value(json_object_get(json_array_get(runs, i), "run")));
    found = short_id_result(&search, err);
    if (found > 0)
        (void)snprintf(id, SHORT_ID_SIZE, "%s", search.best);
    return found < 0 ? -1 : 0;
}

/* --- the list --- */

static void print_run(const json_t *run)
{
    const json_t *directories = json_object_get(run, "directories");
    const char *undoes = json_string_value(json_object_get(run, "undoes"));

    (void)printf("%s  %s ", json_string_value(json_object_get(run, "run")),
                 json_string_value(json_object_get(run, "time")));
    if (json_is_true(json_object_get(run, "is_running")))
        (void)printf(" still going");
    else if (json_is_integer(json_object_get(run, "created")))
        (void)printf(" +%lld ~%lld -%lld", number(run, "created"),
                     number(run, "changed") + number(run, "renamed"), number(run, "removed"));
    else
        (void)printf(" did not end normally");
    if (undoes)
        (void)printf(" undo of %s", undoes);
    if (json_is_true(json_object_get(run, "undone")))
        (void)printf(" undone");
    if (json_is_true(json_object_get(run, "removed_for_space")))
        (void)printf(" cannot be undone: removed for space");
    for (size_t i = 0; i < json_array_size(directories); i++) {
        (void)printf("  ");
        print_text(stdout, json_array_get(directories, i));
    }
    (void)printf("\n");
}

static int list(const struct wish *wish, struct error *err)
{
    cleanup_json json_t *runs = NULL;

    if (undo_store_list(NULL, &runs, err) < 0)
        return -1;
    if (wish->is_json)
        return cmd_print_json(runs, err);
    for (size_t i = 0; i < json_array_size(runs); i++)
        print_run(json_array_get(runs, i));
    if (json_array_size(runs) == 0)
        (void)fprintf(stderr, "no run can be undone\n");
    return 0;
}

static int act(const struct wish *wish, char **words, struct error *err)
{
    char id[SHORT_ID_SIZE];

    if (wish->is_list && words[0])
        return error_set(err, E_INVALID, "`belljar undo --list` takes no argument `%s`", words[0]);
    if (wish->is_list && wish->is_dry)
        return error_set(err, E_INVALID, "--list and --dry-run cannot be combined");
    if (!wish->is_list && (!words[0] || words[1])) {
        error_set(err, E_INVALID, "`belljar undo` takes the id of one run, or `last`");
        return error_hint(err, "`belljar undo --list` shows the ids");
    }
    if (config_load(wish->config, NULL, err) < 0)
        return -1;
    if (wish->is_list)
        return list(wish, err);
    return find_run(words[0], id, err) < 0 ? -1 : undo(wish, id, err);
}

int cmd_undo(int argc, char **argv)
{
    static const struct option options[] = {
        {"dry-run", no_argument, NULL, 'n'},
        {"list", no_argument, NULL, 'l'},
        {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    struct wish wish = {.config = config_new()};
    const struct cmd_place places[] = {
        {'n', NULL, &wish.is_dry}, {'l', NULL, &wish.is_list}, {'j', NULL, &wish.is_json}};
    struct error err = {0};
    int r;

    if (!wish.config) {
        error_memory(&err);
        return cmd_fail(&err);
    }
    r = cmd_read_options(argc, argv, options, places, ARRAY_SIZE(places), help);
    if (r > 0) {
        config_free(wish.config);
        return r - 1;
    }
    r = act(&wish, argv + optind, &err);
    config_free(wish.config);
    return r < 0 ? cmd_fail(&err) : r;
}
