#include "admit/access.h"

#include <time.h>

#include "admit/page_tokens.h"
#include "admit/quota.h"
#include "base/loop.h"

void access_refused(struct recorder *recorder, const char *owner, const char *what,
                    const struct error *why)
{
    (void)recorder_refusal(recorder, owner, what, why, NULL);
}

int access_check_caller(struct auth *auth, struct recorder *recorder,
                        const struct auth_claim *claim, struct caller **ret_caller,
                        struct error *err)
{
    struct caller *caller;

    if (auth_check(auth, claim, ret_caller, err) < 0) {
        access_refused(recorder, NULL, "token", err);
        return -1;
    }
    caller = *ret_caller;
    caller->last_used = time(NULL);
    if (!caller->is_recorded)
        caller->is_recorded = recorder_token(recorder, "use", caller->name, NULL) == 0;
    return 0;
}

int access_check_operator(struct recorder *recorder, const struct caller *caller, struct error *err)
{
    if (caller->rights.is_operator)
        return 0;
    error_set(err, E_DENIED, "this needs an operator's token");
    access_refused(recorder, caller->name, "operator", err);
    return error_hint(err, "use a token made with `belljar token add --operator`");
}

int access_check_run(const struct queue *queue, struct recorder *recorder, struct caller *caller,
                     bool *ret_is_quota, unsigned *ret_retry_s, struct error *err)
{
    *ret_is_quota = queue_check(queue, caller, err) == 0;
    if (*ret_is_quota && quota_take_run(caller, loop_now_ns(), ret_retry_s, err) == 0)
        return 0;
    caller->n_refused++;
    access_refused(recorder, caller->name, "run", err);
    return -1;
}

int access_redeem_code(struct auth *auth, struct recorder *recorder, struct span code,
                       char ret_token[TOKEN_LEN + 1], struct caller **ret_caller, struct error *err)
{
    auth_refresh(auth);
    if (page_code_redeem(auth_pages(auth), code, loop_now_ns(), ret_token, ret_caller, err) == 0)
        return recorder_token(recorder, "console", (*ret_caller)->name, err);
    access_refused(recorder, NULL, "console", err);
    return -1;
}

int access_token_changing(struct recorder *recorder, const char *event, const char *name,
                          struct error *err)
{
    return recorder_token(recorder, event, name, err);
}

int access_token_changes(const struct recorder_options *options, const char *event,
                         const char *name, struct error *err)
{
    struct recorder *recorder = NULL;
    int r;

    if (recorder_open(options, &recorder, err) < 0)
        return -1;
    r = recorder_token(recorder, event, name, err);
    recorder_close(recorder);
    return r;
}
