#include "cli/stored.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/run.h"
#include "base/terminal_text.h"
#include "base/utf8.h"
#include "cli/cmd.h"
#include "engine/masking.h"

/* Several folders in escapes. */
#define SHOWN_MAX (64 * MIB)

/* --- what is shown --- */

static struct mask_context context_of(const struct stored_command *command)
{
    return (struct mask_context){.level = config_masking(command->config), .masks = command->masks};
}

static int withheld(struct error *err)
{
    return error_set(err, E_SYSTEM, "it cannot be shown because it could not be masked");
}

/* Returns the text with labels, which the caller frees. NULL: *err says why. */
static json_t *masked(const struct stored_command *command, const json_t *value, struct error *err)
{
    static const struct json_text_limits limits = {
        .bytes = SHOWN_MAX, .depth = 200, .allows_nul = true};
    cleanup(buf_done) struct buf text = BUF_OF(SHOWN_MAX);
    cleanup_free char *clean = NULL;
    json_t *shown = NULL;

    if (json_text_dump(value, JSON_TEXT_COMPACT, &text, err) < 0)
        return NULL;
    clean = mask_json(context_of(command), (struct span){buf_str(&text), text.len});
    if (!clean || json_text_load(clean, strlen(clean), &limits, &shown, NULL) < 0)
        withheld(err);
    return shown;
}

int stored_print(const struct stored_command *command, const json_t *value, struct error *err)
{
    cleanup_json json_t *shown = masked(command, value, err);

    return shown ? cmd_print_json(shown, err) : -1;
}

static void print_line(const json_t *item)
{
    const char *words = json_string_value(json_object_get(item, "description"));
    const char *kind = json_string_value(json_object_get(item, "kind"));
    const char *time = json_string_value(json_object_get(item, "updated_at"));
    cleanup(buf_done) struct buf line;

    buf_init(&line, 64 * KIB);
    if (words)
        (void)terminal_line(words, strlen(words), &line, NULL);
    (void)printf("%-32s %7lld %9lld  %-24s  ", json_string_value(json_object_get(item, "name")),
                 (long long)json_integer_value(json_object_get(item, "version")),
                 (long long)json_integer_value(json_object_get(item, "bytes")), time ? time : "");
    if (kind)
        (void)printf("%-6s  ", kind);
    (void)printf("%s\n", buf_str(&line));
}

static void print_head(const json_t *first)
{
    (void)printf("%-32s %7s %9s  %-24s  ", "NAME", "VERSION", "BYTES", "UPDATED");
    if (json_object_get(first, "kind"))
        (void)printf("%-6s  ", "KIND");
    (void)printf("DESCRIPTION\n");
}

int stored_print_list(const struct stored_command *command, const json_t *list, struct error *err)
{
    json_t *shown, *item;
    size_t i;

    if (command->is_json)
        return stored_print(command, list, err);
    shown = masked(command, list, err);
    if (!shown)
        return -1;
    if (json_array_size(shown))
        print_head(json_array_get(shown, 0));
    else
        (void)fprintf(stderr, "nothing is stored\n");
    json_array_foreach(shown, i, item)
    {
        print_line(item);
    }
    json_decref(shown);
    return 0;
}

int stored_print_versions(const struct stored_command *command, const char *name,
                          const json_t *versions, struct error *err)
{
    const json_t *item;
    size_t i;

    if (command->is_json)
        return stored_print(command, versions, err);
    json_array_foreach(versions, i, item)
    {
        (void)printf("%s %5lld %9lld  %s\n", name,
                     (long long)json_integer_value(json_object_get(item, "version")),
                     (long long)json_integer_value(json_object_get(item, "bytes")),
                     json_string_value(json_object_get(item, "timestamp")));
    }
    return 0;
}

int stored_print_text(const struct stored_command *command, const char *data, size_t len,
                      struct error *err)
{
    struct mask_context context = context_of(command);
    struct error failure = {0};
    cleanup(buf_done) struct buf out;
    struct terminal terminal;

    buf_init(&out, SHOWN_MAX);
    context.error = &failure;
    /* Pictures and other bytes that are no text have nothing to mask. */
    if (utf8_valid(data, len) == len) {
        struct clean_text clean = mask_text(context, (struct span){data, len});

        if (failure.code != E_NONE) {
            error_done(&failure);
            return withheld(err);
        }
        data = clean_data(clean);
        len = clean_len(clean);
    }
    if (isatty(STDOUT_FILENO)) {
        terminal_begin(&terminal, false);
        if (terminal_feed(&terminal, data, len, &out, err) < 0 ||
            terminal_finish(&terminal, &out, err) < 0)
            return -1;
        data = buf_str(&out);
        len = out.len;
    }
    return fwrite(data, 1, len, stdout) == len ? 0 : error_errno(err, "write the answer");
}

/* --- the command --- */

static int open_kept(struct stored_command *command, struct error *err)
{
    if (config_load(command->config, NULL, err) < 0)
        return -1;
    if (*command->config->masking_file &&
        operator_rules_load(&command->own, command->config->masking_file, err) < 0)
        return -1;
    command->masks = masks_new(command->own.rules, command->own.values, err);
    command->store = command->masks ? store_open_usual(err) : NULL;
    return command->store ? 0 : -1;
}

static void close_kept(struct stored_command *command)
{
    store_free(command->store);
    masks_free(command->masks);
    operator_rules_done(&command->own);
    config_free(command->config);
}

static int run_action(struct stored_command *command, const struct stored_action *action,
                      char **argv, int count, struct error *err)
{
    if ((count > 0) != action->takes_names)
        return error_set(err, E_INVALID, "`belljar %s %s` takes %s", argv[0], action->name,
                         action->takes_names ? "one name or more" : "no name");
    if (command->has_profile && !action->takes_profile)
        return error_set(err, E_INVALID, "`belljar %s %s` takes no --profile", argv[0],
                         action->name);
    if (open_kept(command, err) < 0)
        return -1;
    return action->run(command, argv + optind + 1, err);
}

int stored_run(int argc, char **argv, int (*print_help)(void), const struct stored_action *actions,
               size_t count)
{
    static const struct option options[] = {
        {"json", no_argument, NULL, 'j'},
        {"profile", required_argument, NULL, 'p'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    cleanup(close_kept) struct stored_command command = {.config = config_new()};
    const char *profile = NULL;
    const struct cmd_place places[] = {
        {'j', .flag = &command.is_json},
        {'p', .word = &profile},
    };
    const struct stored_action *action;
    struct error err = {0};
    int r = cmd_read_options(argc, argv, options, places, ARRAY_SIZE(places), print_help);

    if (r > 0)
        return r - 1;
    if (!command.config) {
        error_memory(&err);
        return cmd_fail(&err);
    }
    command.has_profile = profile != NULL;
    if (profile && config_set_flag(command.config, "profile", profile, &err) < 0)
        return cmd_fail(&err);
    action = cmd_find_action(argv[0], argv[optind], actions, count, sizeof(*actions), &err);
    if (!action || run_action(&command, action, argv, argc - optind - 1, &err) < 0)
        return cmd_fail(&err);
    return 0;
}
