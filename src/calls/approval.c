#include "calls/approval.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/utf8.h"

static void tell(const struct approval *approval, const char *answer)
{
    const struct approvals *all = approval->all;

    if (all->on_change)
        all->on_change(all->user, &(struct approval_change){approval, answer});
}

static void decide(struct approval *approval, enum approval_answer answer)
{
    static const char *const words[] = {[APPROVAL_YES] = "yes",
                                        [APPROVAL_NO] = "no",
                                        [APPROVAL_LATE] = "late",
                                        [APPROVAL_ALWAYS] = "always"};
    void (*on_answer)(void *user, enum approval_answer answer) = approval->on_answer;

    approval->is_answered = true;
    tell(approval, words[answer]);
    on_answer(approval->user, answer);
}

static void on_late(void *arg)
{
    decide(arg, APPROVAL_LATE);
}

struct approval *approval_new(struct approvals *all, struct loop *loop, const struct run *run,
                              const char *name, json_t *arguments,
                              const uint8_t digest[SHA256_BYTES], double seconds,
                              void (*on_answer)(void *user, enum approval_answer answer),
                              void *user, struct error *err)
{
    struct approval *approval = calloc(1, sizeof(*approval));
    struct approval **last = &all->first;

    if (!approval) {
        error_memory(err);
        return NULL;
    }
    *approval = (struct approval){
        .all = all, .run = run, .seconds = seconds, .on_answer = on_answer, .user = user};
    while (*last)
        last = &(*last)->next;
    *last = approval;
    approval->name = strdup(name);
    approval->arguments = json_incref(arguments);
    memcpy(approval->digest, digest, SHA256_BYTES);
    approval->clock = loop_timer(loop, on_late, approval);
    if (!approval->name || !approval->arguments || !approval->clock ||
        id_make(approval->id, "apr_") < 0) {
        approval->is_answered = true; /* it was never asked */
        approval_free(approval);
        error_memory(err);
        return NULL;
    }
    loop_timer_start(approval->clock, (uint64_t)(seconds * 1000));
    tell(approval, NULL);
    return approval;
}

void approval_free(struct approval *approval)
{
    struct approval **at;

    if (!approval)
        return;
    if (!approval->is_answered)
        tell(approval, "gone");
    at = &approval->all->first;
    while (*at && *at != approval)
        at = &(*at)->next;
    if (*at)
        *at = approval->next;
    loop_watch_free(approval->clock);
    free(approval->name);
    json_decref(approval->arguments);
    free(approval->shown);
    free(approval);
}

static const char *owner_of(const struct approval *approval)
{
    return approval->run->origin.owner ? approval->run->origin.owner : "";
}

static bool is_of(const struct approval *approval, const char *id)
{
    return strcmp(approval->run->id, id) == 0 ||
           (*approval->run->origin.session && strcmp(approval->run->origin.session, id) == 0);
}

json_t *approval_json(const struct approval *approval)
{
    static const struct json_text_limits limits = {
        .bytes = 8 * MIB, .depth = 128, .allows_nul = true};
    const char *shown = approval->shown ? approval->shown : "";
    char hex[2 * SHA256_BYTES + 1];
    json_t *arguments = NULL, *json;

    sha256_to_hex(approval->digest, hex);
    json =
        json_pack("{s:s, s:s, s:s, s:s, s:I, s:b, s:f}", "approval_id", approval->id, "run_id",
                  approval->run->id, "call", approval->name, "sha256", hex, "hidden_bytes",
                  (json_int_t)approval->hidden, "has_invisible",
                  (int)utf8_has_invisible(shown, strlen(shown)), "expires_in_s", approval->seconds);
    if (*owner_of(approval))
        (void)json_object_set_new(json, "owner", json_string(owner_of(approval)));
    if (*approval->run->origin.session)
        (void)json_object_set_new(json, "session_id", json_string(approval->run->origin.session));
    if (approval->shown &&
        json_text_load(approval->shown, strlen(approval->shown), &limits, &arguments, NULL) == 0)
        (void)json_object_set_new(json, "arguments", arguments);
    return json;
}

json_t *approval_list(const struct approvals *all, const char *owner, const char *id)
{
    json_t *list = json_array();

    for (const struct approval *a = all->first; a; a = a->next) {
        bool is_owners = !owner || strcmp(owner_of(a), owner) == 0;

        if (id ? is_of(a, id) : is_owners)
            (void)json_array_append_new(list, approval_json(a));
    }
    return list;
}

const struct approval *approval_first(const struct approvals *all, const char *run_id)
{
    const struct approval *a = all->first;

    while (a && strcmp(a->run->id, run_id) != 0)
        a = a->next;
    return a;
}

/* A yes is one to what was shown. */
static int check_yes(const struct approval *approval, const struct approval_word *word,
                     struct error *err)
{
    char hex[2 * SHA256_BYTES + 1];

    if (!approval->shown) {
        error_set(err, E_DENIED, "the arguments of `%s` cannot be shown, so it cannot be approved",
                  approval->name);
        return error_hint(err, "refuse it");
    }
    sha256_to_hex(approval->digest, hex);
    if (word->sha256 && strcmp(word->sha256, hex) != 0) {
        error_set(err, E_INVALID, "the arguments of `%s` have another `sha256`", approval->name);
        return error_hint(err, "list the waiting calls again");
    }
    if (approval->hidden == word->accept_hidden)
        return 0;
    error_set(err, E_DENIED, "%" PRIu64 " bytes of the arguments of `%s` are hidden",
              approval->hidden, approval->name);
    return error_hint(err, "to approve the call anyway, send `accept_hidden`: %" PRIu64,
                      approval->hidden);
}

int approval_answer(const struct approvals *all, const char *id, const struct approval_word *word,
                    struct error *err)
{
    struct approval *found = all->first;

    while (found &&
           !(is_of(found, id) && (!word->approval_id || strcmp(found->id, word->approval_id) == 0)))
        found = found->next;
    if (!found) {
        error_set(err, E_NOT_FOUND, "nothing of `%s` waits for approval", id);
        return error_hint(err, "it may already be answered or expired");
    }
    if (word->is_yes && check_yes(found, word, err) < 0)
        return -1;
    if (word->by && strcmp(word->by, owner_of(found)) != 0)
        (void)snprintf(found->by, sizeof(found->by), "%s", word->by);
    decide(found, !word->is_yes                           ? APPROVAL_NO
                  : word->is_always && found->can_be_kept ? APPROVAL_ALWAYS
                                                          : APPROVAL_YES);
    return 0;
}
