/* Shared by session.c (sessions), session_changes.c (their changes in granted directories) and
 * session_files.c (their files). */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "base/error.h"
#include "http/client.h"

struct query {
    struct client client;
    bool is_json;
    bool is_brief;       /* no diffs */
    bool is_forced;      /* conflicts, or files, are overwritten */
    const char *into;    /* the directory that files go to, or NULL */
    const char *version; /* of a list that was looked at, or NULL */
    const char *hidden;  /* how many bytes that list hides, or NULL */
};

/* `words`: the name of the session, and paths. They return 0, 1 when something was not done, or
 * -1. */
int session_changes_diff(struct query *q, char **words, struct error *err);
int session_changes_apply(struct query *q, char **words, struct error *err);
int session_changes_discard(struct query *q, char **words, struct error *err);
int session_files_put(struct query *q, char **words, struct error *err);
int session_files_get(struct query *q, char **words, struct error *err);
int session_files_list(struct query *q, char **words, struct error *err);
