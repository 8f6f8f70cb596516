/* Copies of a session: going back to a checkpoint, and sessions that go on from here side by side.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "cli/shell/shell.h"
#include "engine/place.h"

/* --- which sessions there are: each keeps its number --- */

void shell_add_session(struct shell *shell, struct session *session)
{
    for (size_t i = 0; i < SHELL_SESSIONS_MAX; i++)
        if (!shell->list[i]) {
            shell->list[i] = session;
            return;
        }
}

bool shell_remove_session(struct shell *shell, const struct session *session)
{
    for (size_t i = 0; i < SHELL_SESSIONS_MAX; i++)
        if (shell->list[i] == session) {
            shell->list[i] = NULL;
            return true;
        }
    return false;
}

size_t shell_session_number(const struct shell *shell, size_t *ret_count)
{
    size_t number = 0;

    *ret_count = 0;
    for (size_t i = 0; i < SHELL_SESSIONS_MAX; i++) {
        *ret_count += shell->list[i] != NULL;
        if (shell->list[i] == shell->session)
            number = i + 1;
    }
    return number;
}

int shell_list_sessions(struct shell *shell)
{
    for (size_t i = 0; i < SHELL_SESSIONS_MAX; i++) {
        struct session_info info;

        if (!shell->list[i])
            continue;
        session_info(shell->list[i], &info);
        shell_say("%c %2zu  %s, %llu %s, %.0f s old", shell->list[i] == shell->session ? '*' : ' ',
                  i + 1, info.id, (unsigned long long)info.cells,
                  info.cells == 1 ? "cell" : "cells", (double)info.age_ms / 1000);
    }
    return 0;
}

int shell_switch(struct shell *shell, const char *word, struct error *err)
{
    char *end;
    unsigned long number = strtoul(word, &end, 10);

    if (*end || number < 1 || number > SHELL_SESSIONS_MAX || !shell->list[number - 1]) {
        error_set(err, E_NOT_FOUND, "there is no session `%s`", word);
        return error_hint(err, "`:sessions` lists them");
    }
    shell->session = shell->list[number - 1];
    return 0;
}

/* --- copying --- */

static bool has_failed(struct shell *shell, const struct session_copied *result)
{
    struct error err = {0};

    if (result->err->code == E_NONE) {
        shell->exit_code = 0;
        return false;
    }
    error_copy(&err, result->err);
    shell_fail(shell, &err);
    return true;
}

static void say_lost(const struct session_copied *result)
{
    if (result->lost)
        shell_say("not part of it: %s", result->lost);
}

static void on_checkpoint(void *user, const struct session_copied *result)
{
    struct shell *shell = user;

    if (!has_failed(shell, result)) {
        shell_say("checkpoint made in %.0f ms", result->total_ms);
        say_lost(result);
    }
    shell_ask(shell);
}

static void on_restore(void *user, const struct session_copied *result)
{
    struct shell *shell = user;

    if (!has_failed(shell, result)) {
        shell_say("back in %.0f ms", result->total_ms);
        say_lost(result);
    }
    shell_ask(shell);
}

static void say_shared(const struct session_copied *result)
{
    cleanup(buf_done) struct buf said = {0};
    struct session_info info;

    session_info(result->source, &info);
    buf_init(&said, 64 * KIB);
    if (place_add_forks(info.terms, &said) == 0 && said.len)
        shell_say("%s", buf_str(&said));
}

static void on_fork(void *user, const struct session_copied *result)
{
    struct shell *shell = user;

    for (size_t i = 0; i < result->n_sessions; i++)
        shell_add_session(shell, result->sessions[i]);
    if (!has_failed(shell, result)) {
        say_lost(result);
        (void)shell_list_sessions(shell);
        say_shared(result);
        shell_say("`:switch N` continues in one of them");
    }
    shell_ask(shell);
}

int shell_list_checkpoints(struct shell *shell)
{
    const char *name;

    for (size_t i = 0; (name = session_checkpoint_name(shell->session, i)); i++)
        shell_say("%s", name);
    if (!session_checkpoint_name(shell->session, 0))
        shell_say("no checkpoints");
    return 0;
}

int shell_checkpoint(struct shell *shell, const char *name, struct error *err)
{
    return session_checkpoint(shell->session, name, on_checkpoint, shell, err) < 0 ? -1 : 1;
}

int shell_restore(struct shell *shell, const char *name, struct error *err)
{
    return session_restore(shell->session, name, on_restore, shell, err) < 0 ? -1 : 1;
}

int shell_fork(struct shell *shell, const char *word, struct error *err)
{
    const struct session_options options = {
        .owner = "", .on_end = shell_on_session_end, .user = shell};
    char *end = NULL;
    unsigned long n = word ? strtoul(word, &end, 10) : 1;
    size_t count;

    (void)shell_session_number(shell, &count);
    if ((end && (end == word || *end)) || n < 1 || n > SHELL_SESSIONS_MAX - count)
        return error_set(err, E_INVALID, "`%s` is not a number from 1 to %zu", word ? word : "",
                         SHELL_SESSIONS_MAX - count);
    return session_fork(shell->session, n, &options, on_fork, shell, err) < 0 ? -1 : 1;
}
