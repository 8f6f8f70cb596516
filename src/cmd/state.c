/* belljar state: work that goes on over several runs, as its owner sees it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "cmd/cmd.h"
#include "cmd/kept.h"
#include "front/terminal.h"
#include "gate/tokens.h"
#include "state/work.h"

static int help(void)
{
    (void)printf("usage: belljar state list [--json]\n"
                 "       belljar state show NAME…\n"
                 "       belljar state rm NAME…\n\n"
                 "List, show or delete the refactoring sessions that you and your agents have "
                 "saved.\n\n"
                 "  --json         for machines\n\n"
                 "example:\n"
                 "  belljar state show rename-api\n");
    return 0;
}

int kept_print(const json_t *value, struct error *err)
{
    cleanup(buf_done) struct buf out;

    buf_init(&out, LIMIT_OUTPUT_BYTES_MAX);
    if (json_text_dump(value, JSON_TEXT_PRETTY, &out, err) < 0)
        return -1;
    return fputs(buf_str(&out), stdout) < 0 ? error_errno(err, "write the answer") : 0;
}

void kept_print_list(const json_t *list)
{
    const json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        const char *words = json_string_value(json_object_get(item, "description"));
        cleanup(buf_done) struct buf line;

        buf_init(&line, 64 * KIB);
        if (words)
            (void)terminal_line(words, strlen(words), &line, NULL);
        (void)printf("%-32s %5lld %9lld  %s  %s\n",
                     json_string_value(json_object_get(item, "name")),
                     (long long)json_integer_value(json_object_get(item, "version")),
                     (long long)json_integer_value(json_object_get(item, "bytes")),
                     json_string_value(json_object_get(item, "updated_at")), buf_str(&line));
    }
}

static int list(struct store *store, char **names, bool is_json, struct error *err)
{
    json_t *works = NULL;
    int r = work_list(store, TOKEN_FIRST, &works, err);

    (void)names;
    if (r == 0 && is_json)
        r = kept_print(works, err);
    else if (r == 0)
        kept_print_list(works);
    json_decref(works);
    return r;
}

static int show(struct store *store, char **names, bool is_json, struct error *err)
{
    int r = 0;

    (void)is_json;
    for (; *names && r == 0; names++) {
        json_t *work = NULL;

        r = work_load(store, TOKEN_FIRST, *names, 0, &work, err);
        if (r == 0)
            r = kept_print(work, err);
        json_decref(work);
    }
    return r;
}

static int rm(struct store *store, char **names, bool is_json, struct error *err)
{
    int r = 0;

    (void)is_json;
    for (; *names && r == 0; names++)
        r = work_delete(store, TOKEN_FIRST, *names, err);
    return r;
}

int kept_run(int argc, char **argv, int (*print_help)(void), const struct kept_action *actions,
             size_t count)
{
    static const struct option options[] = {
        {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},
        {NULL,   0,           NULL, 0  },
    };
    const char *word;
    struct error err = {0};
    struct store *store;
    bool is_json = false;
    int answer, r = -1;

    opterr = 0;
    while ((answer = getopt_long(argc, argv, ":h", options, NULL)) >= 0) {
        if (answer == 'h')
            return print_help();
        if (answer != 'j')
            return cmd_bad_option(argv[0], answer, argv, options);
        is_json = true;
    }
    word = optind < argc ? argv[optind] : "";
    for (size_t i = 0; i < count; i++) {
        if (strcmp(word, actions[i].name) != 0)
            continue;
        if ((argc - optind > 1) != actions[i].takes_names) {
            error_set(&err, E_INVALID, "`belljar %s %s` takes %s", argv[0], word,
                      actions[i].takes_names ? "one name or more" : "no name");
            return cmd_fail(&err);
        }
        store = store_open_usual(&err);
        r = store ? actions[i].run(store, argv + optind + 1, is_json, &err) : -1;
        store_free(store);
        return r < 0 ? cmd_fail(&err) : 0;
    }
    error_set(&err, E_INVALID, "unknown action `%s`", word);
    error_hint(&err, "`belljar %s --help` lists them", argv[0]);
    return cmd_fail(&err);
}

int cmd_state(int argc, char **argv)
{
    static const struct kept_action actions[] = {
        {"list", list, false},
        {"show", show, true },
        {"rm",   rm,   true },
    };

    return kept_run(argc, argv, help, actions, ARRAY_SIZE(actions));
}
