/* Shared by session.c (sessions) and session_changes.c (what they changed). */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "base/error.h"
#include "http/client.h"

struct query {
    struct client client;
    bool is_json;
    bool is_brief;       /* no diffs */
    bool is_forced;      /* conflicts are overwritten */
    const char *version; /* of a list that was looked at, or NULL */
    const char *hidden;  /* how many bytes that list hides, or NULL */
};

/* `words`: the name of the session, and paths. They return 0, 1 when something was not done, or
 * -1. */
int session_changes_diff(struct query *q, char **words, struct error *err);
int session_changes_apply(struct query *q, char **words, struct error *err);
int session_changes_discard(struct query *q, char **words, struct error *err);
