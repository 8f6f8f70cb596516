/* Shared by `belljar ps`, `logs` and `stop`: the runs and sessions of a server, and how a person
 * names one of them. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "base/error.h"
#include "http/client.h"

/* {"runs": […], "sessions": […]} as the server lists them, checked to be lists of objects with a
 * good id. `is_all`: also runs that are over. The caller's. */
int runs_list(const struct client *client, bool is_all, json_t **ret_list, struct error *err);

struct runs_target {
    bool is_session;
    char id[CLIENT_ID_SIZE];
};

/* `word` is an id, the name of a session, or a beginning or end of an id that fits only one of
 * them, with or without "run_" or "ses_". */
int runs_find(const struct client *client, const char *word, struct runs_target *ret_target,
              struct error *err);

/* Whether `word` is the id of a durable job, which runs_find() does not look for. */
bool runs_is_job(const char *word);
