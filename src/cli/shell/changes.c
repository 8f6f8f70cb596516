/* Changes of a fork in its own view of directories, and what becomes of it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/changes.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/terminal_text.h"
#include "cli/changes.h"
#include "cli/shell/shell.h"

static int overlays_of(const struct shell *shell, struct overlays **ret_overlays, struct error *err)
{
    *ret_overlays = session_overlays(shell->session);
    if (*ret_overlays)
        return 0;
    error_set(err, E_INVALID, "this session has no copy-on-write directory");
    return error_hint(
        err,
        "start with `--allow DIR:cow`; forks of a session with `--allow DIR:rw` have one, too");
}

static int settle(struct shell *shell, struct changes_wish *wish, struct error *err)
{
    cleanup_json json_t *answer = NULL;
    struct overlays *overlays;
    bool is_apply = wish->action == CHANGES_APPLY;

    wish->room = LIMIT_DIFF_READ;
    if (overlays_of(shell, &overlays, err) < 0)
        return -1;
    if (wish->action != CHANGES_SHOW &&
        session_note(shell->session, is_apply ? "apply" : "discard",
                     json_array_size(wish->paths) ? "some paths" : "all", err) < 0)
        return -1;
    if (changes_do(overlays, session_masks(shell->session), wish, &answer, err) < 0)
        return -1;
    if (wish->action != CHANGES_SHOW)
        (void)changes_print_settled(stdout, answer, is_apply ? "applied" : "discarded");
    else if (!changes_print(stdout, answer,
                            terminal_has_color(STDOUT_FILENO, shell->config->color)))
        shell_say("no changes");
    return 0;
}

static json_t *paths_of(char **words, size_t count)
{
    json_t *paths = json_array();

    for (size_t i = 0; i < count; i++)
        (void)json_array_append_new(paths, json_string(words[i]));
    return paths;
}

int shell_show_changes(struct shell *shell, char **words, size_t count, struct error *err)
{
    cleanup_json json_t *paths = paths_of(words, count);
    struct changes_wish wish = {.action = CHANGES_SHOW, .paths = paths, .has_diffs = true};

    return settle(shell, &wish, err);
}

int shell_apply(struct shell *shell, char **words, size_t count, struct error *err)
{
    bool accepts = count && strcmp(words[0], "--with-hidden") == 0;
    cleanup_json json_t *paths = paths_of(words + accepts, count - accepts);
    struct changes_wish wish = {
        .action = CHANGES_APPLY, .paths = paths, .accepts_all_hidden = accepts};

    return settle(shell, &wish, err);
}

int shell_discard(struct shell *shell, char **words, size_t count, struct error *err)
{
    cleanup_json json_t *paths = paths_of(words, count);
    struct changes_wish wish = {.action = CHANGES_DISCARD, .paths = paths};

    return settle(shell, &wish, err);
}

/* --- leaving --- */

static size_t count_changes(struct session *session)
{
    const struct changes_wish wish = {.action = CHANGES_SHOW};
    struct overlays *overlays = session ? session_overlays(session) : NULL;
    cleanup_json json_t *answer = NULL;
    cleanup_error struct error ignored = {0};

    if (!overlays || changes_do(overlays, session_masks(session), &wish, &answer, &ignored) < 0)
        return 0;
    return json_array_size(json_object_get(answer, "changes"));
}

bool shell_may_leave(struct shell *shell)
{
    const char *them;
    size_t count = 0;

    for (size_t i = 0; i < SHELL_SESSIONS_MAX; i++)
        count += count_changes(shell->list[i]);
    them = count == 1 ? "it" : "them";
    if (!count || shell->is_warned)
        return true;
    if (!editor_is_capable(shell->editor)) {
        shell_say("belljar: %zu %s not applied and not on disk; `:apply` writes %s", count,
                  count == 1 ? "change was" : "changes were", them);
        return true;
    }
    shell_say("%zu %s not on disk: `:changes` shows %s, `:apply` writes %s; leave again to "
              "discard %s",
              count, count == 1 ? "change is" : "changes are", them, them, them);
    shell->is_warned = true;
    return false;
}
