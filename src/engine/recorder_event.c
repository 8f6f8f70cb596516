/* Records events other than runs: sessions, files, calls, connections, refusals, tokens, and the
 * server itself. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "calls/call.h"
#include "engine/recorder_internal.h"

/* Refusals cost a stranger nothing: so many in a second are written down, the others counted. */
#define REFUSALS_PER_SECOND 20

int recorder_session(struct recorder *recorder, const struct recorder_session *event,
                     struct error *err)
{
    cleanup(record_done) struct record r = {0};
    bool is_open = strcmp(event->event, "open") == 0;

    if (!recorder)
        return 0;
    record_init(&r, "session");
    record_word(&r, "event", event->event);
    record_word(&r, "id", event->id);
    record_word(&r, "session", event->id);
    recorder_add(recorder, &r, "name", event->name);
    recorder_add(recorder, &r, "owner", event->owner && *event->owner ? event->owner : OWNER_LOCAL);
    recorder_add(recorder, &r, "profile", event->profile);
    recorder_add(recorder, &r, event->detail_key, event->detail);
    if (event->limits)
        recorder_add_limits(&r, event->limits);
    record_word(&r, "status", event->error && event->error->code != E_NONE ? "failed" : "success");
    recorder_add_error(recorder, &r, event->error);
    if (is_open)
        return recorder_append_new(recorder, event->owner, &r, TRAIL_START, err);
    return recorder_append(recorder, event->owner, &r,
                           strcmp(event->event, "end") == 0 ? TRAIL_END : TRAIL_EVENT, NULL, err);
}

int recorder_file(struct recorder *recorder, const struct recorder_file *event, struct error *err)
{
    cleanup(record_done) struct record r = {0};

    if (!recorder)
        return 0;
    record_init(&r, "file");
    record_word(&r, "event", event->event);
    record_word(&r, "session", event->session);
    recorder_add(recorder, &r, "owner", event->owner && *event->owner ? event->owner : OWNER_LOCAL);
    recorder_add(recorder, &r, "path", event->path);
    if (event->to)
        recorder_add(recorder, &r, "to", event->to);
    if (event->digest) {
        record_number(&r, "bytes", event->bytes);
        record_digest(&r, "sha256", event->digest);
    }
    record_word(&r, "status", event->error ? "failed" : "success");
    recorder_add_error(recorder, &r, event->error);
    if (!event->error)
        return recorder_append_new(recorder, event->owner, &r, TRAIL_EVENT, err);
    return recorder_append(recorder, event->owner, &r, TRAIL_EVENT, NULL, err);
}

int recorder_undo(struct recorder *recorder, const struct recorder_undo *event, struct error *err)
{
    cleanup(record_done) struct record r = {0};
    const char *owner = event->owner && *event->owner ? event->owner : OWNER_LOCAL;

    if (!recorder)
        return 0;
    record_init(&r, "undo");
    record_word(&r, "event", event->event);
    record_word(&r, "id", event->run);
    recorder_add(recorder, &r, "owner", owner);
    if (strcmp(event->event, "undone") == 0) {
        if (event->undo)
            record_word(&r, "undo", event->undo);
        record_number(&r, "done", event->done);
        record_number(&r, "conflicts", event->conflicts);
        record_word(&r, "status", event->error ? "failed" : "success");
        recorder_add_error(recorder, &r, event->error);
    }
    return recorder_append(recorder, owner, &r, TRAIL_EVENT, NULL, err);
}

int recorder_call(struct recorder *recorder, const struct call_record *call, struct error *err)
{
    cleanup(record_done) struct record r = {0};
    const struct run *run = call->run;

    if (!recorder)
        return 0;
    record_init(&r, "call");
    record_word(&r, "id", run->id);
    if (*run->origin.session)
        record_word(&r, "session", run->origin.session);
    recorder_add(recorder, &r, "owner",
                 run->origin.owner && *run->origin.owner ? run->origin.owner : OWNER_LOCAL);
    recorder_add(recorder, &r, "name", call->name);
    record_number(&r, "bytes_in", call->bytes_in);
    record_number(&r, "bytes_out", call->bytes_out);
    record_digest(&r, "arguments_sha256", call->digest);
    if (call->approval) {
        record_word(&r, "approval", call->approval);
        record_number(&r, "hidden_bytes", call->hidden);
        if (*call->decided_by)
            recorder_add(recorder, &r, "decided_by", call->decided_by);
    }
    record_ms(&r, "ms", call->ms);
    record_word(&r, "status", call->error->code == E_NONE ? "success" : "failed");
    recorder_add_error(recorder, &r, call->error);
    return recorder_append(recorder, run->origin.owner, &r, TRAIL_EVENT, NULL, err);
}

int recorder_net(struct recorder *recorder, const struct recorder_net *event, struct error *err)
{
    cleanup(record_done) struct record r = {0};
    bool is_yes;

    if (!recorder)
        return 0;
    record_init(&r, "net");
    is_yes = !event->why && (!event->asked || strchr("yar", *event->asked)); /* or it is no, late */
    record_word(&r, "event", event->asked ? "asked" : event->why ? "refused" : "connection");
    if (*event->run)
        record_word(&r, "id", event->run);
    if (*event->session)
        record_word(&r, "session", event->session);
    recorder_add(recorder, &r, "owner", event->owner && *event->owner ? event->owner : OWNER_LOCAL);
    recorder_add(recorder, &r, "host", event->host);
    if (!event->asked)
        record_number(&r, "port", event->port);
    record_word(&r, "how", event->how);
    if (event->asked)
        record_word(&r, "answer", event->asked);
    if (event->decided_by && *event->decided_by)
        recorder_add(recorder, &r, "decided_by", event->decided_by);
    if (!event->why && !event->asked) {
        record_number(&r, "sent_bytes", event->sent);
        record_number(&r, "received_bytes", event->received);
    }
    record_ms(&r, "ms", event->ms);
    record_word(&r, "status", is_yes ? "success" : "refused");
    recorder_add(recorder, &r, "why", event->why);
    if (event->more)
        record_number(&r, "more", event->more);
    return recorder_append(recorder, event->owner, &r, TRAIL_EVENT, NULL, err);
}

static bool is_flood(struct recorder *recorder)
{
    uint64_t second = loop_now_ns() / 1000000000;

    if (second != recorder->second)
        recorder->n_refused = 0;
    recorder->second = second;
    return ++recorder->n_refused > REFUSALS_PER_SECOND;
}

int recorder_refusal(struct recorder *recorder, const char *owner, const char *what,
                     const struct error *why, struct error *err)
{
    cleanup(record_done) struct record r = {0};

    if (!recorder)
        return 0;
    if (is_flood(recorder) || recorder_check_share(recorder, owner ? owner : "", KIB, NULL) < 0) {
        recorder->n_untold++;
        return 0;
    }
    record_init(&r, "refusal");
    recorder_add(recorder, &r, "owner", owner && *owner ? owner : NULL);
    record_word(&r, "what", what);
    record_word(&r, "status", "refused");
    recorder_add_error(recorder, &r, why);
    if (recorder->n_untold)
        record_number(&r, "more", recorder->n_untold);
    if (recorder_append(recorder, owner ? owner : "", &r, TRAIL_EVENT, NULL, err) < 0)
        return -1;
    recorder->n_untold = 0;
    return 0;
}

int recorder_token(struct recorder *recorder, const char *event, const char *name,
                   struct error *err)
{
    cleanup(record_done) struct record r = {0};

    if (!recorder)
        return 0;
    record_init(&r, "token");
    record_word(&r, "event", event);
    recorder_add(recorder, &r, "owner", name);
    return recorder_append(recorder, name, &r, TRAIL_EVENT, NULL, err);
}

/* The settings that differ from the default, and their sources. */
static void add_settings(struct recorder *recorder, struct record *r, const struct config *config)
{
    size_t count;
    const struct config_option *options = config_options(&count);

    record_open(r, "settings");
    for (size_t i = 0; i < count; i++) {
        cleanup_free char *source = config_source_text(config, &options[i]);
        cleanup_free char *text = NULL;
        json_t *value;

        if (!source || strcmp(source, "default") == 0)
            continue;
        value = config_value(config, &options[i]);
        text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
        json_decref(value);
        record_open(r, options[i].name);
        recorder_add(recorder, r, "value", text);
        recorder_add(recorder, r, "from", source);
        record_close(r);
    }
    record_close(r);
}

int recorder_server(struct recorder *recorder, const char *event, const struct config *config,
                    struct error *err)
{
    cleanup(record_done) struct record r = {0};

    if (!recorder)
        return 0;
    record_init(&r, "server");
    record_word(&r, "event", event);
    record_word(&r, "version", BELLJAR_VERSION);
    if (config)
        add_settings(recorder, &r, config);
    return recorder_append(recorder, NULL, &r, TRAIL_EVENT, NULL, err);
}
