/* Decides who may come in at all, and records it: unknown and new callers, operators' routes, runs
 * beyond a queue or quota, changes of tokens. Doors write none of these records.
 *
 * A recorder may be NULL: nothing is recorded then.
 */
#pragma once

#include <stdbool.h>

#include "admit/auth.h"
#include "admit/queue.h"
#include "engine/recorder.h"

/* auth_check(), which finds the caller. */
int access_check_caller(struct auth *auth, struct recorder *recorder,
                        const struct auth_claim *claim, struct caller **ret_caller,
                        struct error *err);

/* E_DENIED: the caller's token is not an operator's. */
int access_check_operator(struct recorder *recorder, const struct caller *caller,
                          struct error *err);

/* Takes one run of the caller's quota. E_BUSY: its queue is full, or its quota is used up.
 * *ret_is_quota says which; then *ret_retry_s says in how many seconds to try again. */
int access_check_run(const struct queue *queue, struct recorder *recorder, struct caller *caller,
                     bool *ret_is_quota, unsigned *ret_retry_s, struct error *err);

/* A page gets a token for its code: page_code_redeem(), recorded. */
int access_redeem_code(struct auth *auth, struct recorder *recorder, struct span code,
                       char ret_token[TOKEN_LEN + 1], struct caller **ret_caller,
                       struct error *err);

/* A token is about to be made or removed over HTTP ("add", "remove"). */
int access_token_changing(struct recorder *recorder, const char *event, const char *name,
                          struct error *err);

/* Records a refusal that was decided elsewhere; owner NULL: the caller is not known. */
void access_refused(struct recorder *recorder, const char *owner, const char *what,
                    const struct error *why);

/* Records a change of tokens ("add", "remove"): before it takes effect. */
int access_token_changes(const struct recorder_options *options, const char *event,
                         const char *name, struct error *err);
