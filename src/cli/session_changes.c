/* belljar session diff, apply, discard: what a session changed in copy-on-write directories. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/terminal_text.h"
#include "cli/changes.h"
#include "cli/cmd.h"
#include "cli/session.h"

static int show(struct query *q, const char *name, const char *below, struct error *err)
{
    cleanup_free char *path = client_path(
        "/v1/sessions/", name, q->is_brief ? "/changes?diff=false" : "/changes?diff=true");
    cleanup_free char *start = below && path ? malloc(strlen(path) + 7) : NULL;
    cleanup_free char *whole = NULL;
    json_t *answer = NULL;
    const char *version;
    int r;

    if (start) {
        (void)snprintf(start, strlen(path) + 7, "%s&path=", path);
        whole = client_path(start, below, "");
    }
    if (!path || (below && !whole))
        return error_memory(err);
    r = client_call(&q->client, "GET", whole ? whole : path, NULL, &answer, err);
    if (r == 0 && q->is_json)
        r = cmd_print_json(answer, err);
    else if (r == 0 && !changes_print(stdout, answer, terminal_has_color(STDOUT_FILENO, "auto")))
        (void)fprintf(stderr, "nothing has changed\n");
    version = json_string_value(json_object_get(answer, "version"));
    if (r == 0 && !q->is_json && version && strspn(version, "0123456789abcdef") == strlen(version))
        (void)fprintf(stderr, "version %s\n", version);
    json_decref(answer);
    return r < 0 && err->code == E_NOT_FOUND ? error_wrap(err, "%s", name) : r;
}

int session_changes_diff(struct query *q, char **words, struct error *err)
{
    int r = 0;

    if (!words[1])
        return show(q, words[0], NULL, err);
    for (char **path = words + 1; *path && r == 0; path++)
        r = show(q, words[0], *path, err);
    return r;
}

static int check_hidden(const struct query *q, struct error *err)
{
    if (!q->hidden || (*q->hidden && strlen(q->hidden) <= 15 &&
                       strspn(q->hidden, "0123456789") == strlen(q->hidden)))
        return 0;
    error_set(err, E_INVALID, "--with-hidden: expected a whole number, got `%.40s`", q->hidden);
    return error_hint(err, "`belljar session diff` reports the number of hidden bytes");
}

static json_t *body_of(const struct query *q, char **paths)
{
    json_t *body = json_object(), *list = json_array();

    for (; *paths; paths++)
        (void)json_array_append_new(list, json_string(*paths));
    if (json_array_size(list))
        (void)json_object_set(body, "paths", list);
    json_decref(list);
    if (q->version)
        (void)json_object_set_new(body, "version", json_string(q->version));
    if (q->is_forced)
        (void)json_object_set_new(body, "force", json_true());
    if (q->hidden)
        (void)json_object_set_new(body, "accept_hidden",
                                  json_integer(strtoll(q->hidden, NULL, 10)));
    return body;
}

static int settle(struct query *q, char **words, const char *verb, const char *done,
                  struct error *err)
{
    cleanup_free char *path = client_path("/v1/sessions/", words[0], verb);
    json_t *body = body_of(q, words + 1), *answer = NULL;
    int r = path ? client_call(&q->client, "POST", path, body, &answer, err) : error_memory(err);

    json_decref(body);
    if (r == 0 && q->is_json)
        r = cmd_print_json(answer, err);
    else if (r == 0)
        (void)changes_print_settled(stderr, answer, done);
    if (r == 0 && json_array_size(json_object_get(answer, "skipped")))
        r = 1;
    json_decref(answer);
    return r < 0 && err->code == E_NOT_FOUND ? error_wrap(err, "%s", words[0]) : r;
}

int session_changes_apply(struct query *q, char **words, struct error *err)
{
    if (check_hidden(q, err) < 0)
        return -1;
    return settle(q, words, "/apply", "applied", err);
}

int session_changes_discard(struct query *q, char **words, struct error *err)
{
    if (q->is_forced || q->hidden)
        return error_set(err, E_INVALID, "%s is for `belljar session apply`",
                         q->is_forced ? "--force" : "--with-hidden");
    return settle(q, words, "/discard", "discarded", err);
}
