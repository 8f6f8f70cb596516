/* What is written down beside runs: sessions, files, calls, connections, refusals, tokens, and the
 * server itself. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "engine/recorder_internal.h"
#include "calls/call.h"

/* Refusals cost a stranger nothing: so many in a second are written down, the others counted. */
#define REFUSALS_PER_SECOND 20

int witness_session(struct witness *witness, const struct witness_session *event, struct error *err)
{
    cleanup(record_done) struct record r = {0};
    bool is_open = strcmp(event->event, "open") == 0;

    if (!witness)
        return 0;
    record_init(&r, "session");
    record_word(&r, "event", event->event);
    record_word(&r, "id", event->id);
    record_word(&r, "session", event->id);
    witness_add(witness, &r, "name", event->name);
    witness_add(witness, &r, "owner", event->owner && *event->owner ? event->owner : OWNER_LOCAL);
    witness_add(witness, &r, "profile", event->profile);
    witness_add(witness, &r, event->detail_key, event->detail);
    if (event->limits)
        witness_add_limits(&r, event->limits);
    record_word(&r, "status", event->error && event->error->code != E_NONE ? "failed" : "success");
    witness_add_error(witness, &r, event->error);
    return witness_append(witness, event->owner, &r,
                          is_open                            ? TRAIL_START
                          : strcmp(event->event, "end") == 0 ? TRAIL_END
                                                             : TRAIL_EVENT,
                          NULL, err);
}

int witness_file(struct witness *witness, const struct witness_file *event, struct error *err)
{
    cleanup(record_done) struct record r = {0};

    if (!witness)
        return 0;
    record_init(&r, "file");
    record_word(&r, "event", event->event);
    record_word(&r, "session", event->session);
    witness_add(witness, &r, "owner", event->owner && *event->owner ? event->owner : OWNER_LOCAL);
    witness_add(witness, &r, "path", event->path);
    if (event->digest) {
        record_number(&r, "bytes", event->bytes);
        record_digest(&r, "sha256", event->digest);
    }
    record_word(&r, "status", event->error ? "failed" : "success");
    witness_add_error(witness, &r, event->error);
    return witness_append(witness, event->owner, &r, TRAIL_EVENT, NULL, err);
}

int witness_undo(struct witness *witness, const struct witness_undo *event, struct error *err)
{
    cleanup(record_done) struct record r = {0};
    const char *owner = event->owner && *event->owner ? event->owner : OWNER_LOCAL;

    if (!witness)
        return 0;
    record_init(&r, "undo");
    record_word(&r, "event", event->event);
    record_word(&r, "id", event->run);
    witness_add(witness, &r, "owner", owner);
    if (strcmp(event->event, "undone") == 0) {
        if (event->undo)
            record_word(&r, "undo", event->undo);
        record_number(&r, "done", event->done);
        record_number(&r, "conflicts", event->conflicts);
        record_word(&r, "status", event->error ? "failed" : "success");
        witness_add_error(witness, &r, event->error);
    }
    return witness_append(witness, owner, &r, TRAIL_EVENT, NULL, err);
}

int witness_call(struct witness *witness, const struct call_record *call, struct error *err)
{
    cleanup(record_done) struct record r = {0};
    const struct run *run = call->run;

    if (!witness)
        return 0;
    record_init(&r, "call");
    record_word(&r, "id", run->id);
    if (*run->session)
        record_word(&r, "session", run->session);
    witness_add(witness, &r, "owner", run->owner && *run->owner ? run->owner : OWNER_LOCAL);
    witness_add(witness, &r, "name", call->name);
    record_number(&r, "bytes_in", call->bytes_in);
    record_number(&r, "bytes_out", call->bytes_out);
    record_digest(&r, "arguments_sha256", call->digest);
    if (call->approval) {
        record_word(&r, "approval", call->approval);
        record_number(&r, "hidden_bytes", call->hidden);
    }
    record_ms(&r, "ms", call->ms);
    record_word(&r, "status", call->error->code == E_NONE ? "success" : "failed");
    witness_add_error(witness, &r, call->error);
    return witness_append(witness, run->owner, &r, TRAIL_EVENT, NULL, err);
}

int witness_net(struct witness *witness, const struct witness_net *event, struct error *err)
{
    cleanup(record_done) struct record r = {0};

    if (!witness)
        return 0;
    record_init(&r, "net");
    record_word(&r, "event", event->why ? "refused" : "connection");
    if (*event->run)
        record_word(&r, "id", event->run);
    if (*event->session)
        record_word(&r, "session", event->session);
    witness_add(witness, &r, "owner", event->owner && *event->owner ? event->owner : OWNER_LOCAL);
    witness_add(witness, &r, "host", event->host);
    record_number(&r, "port", event->port);
    record_word(&r, "how", event->how);
    if (!event->why) {
        record_number(&r, "sent_bytes", event->sent);
        record_number(&r, "received_bytes", event->received);
    }
    record_ms(&r, "ms", event->ms);
    record_word(&r, "status", event->why ? "refused" : "success");
    witness_add(witness, &r, "why", event->why);
    if (event->more)
        record_number(&r, "more", event->more);
    return witness_append(witness, event->owner, &r, TRAIL_EVENT, NULL, err);
}

static bool is_flood(struct witness *witness)
{
    uint64_t second = loop_now_ns() / 1000000000;

    if (second != witness->second)
        witness->n_refused = 0;
    witness->second = second;
    return ++witness->n_refused > REFUSALS_PER_SECOND;
}

int witness_refusal(struct witness *witness, const char *owner, const char *what,
                    const struct error *why, struct error *err)
{
    cleanup(record_done) struct record r = {0};

    if (!witness)
        return 0;
    if (is_flood(witness)) {
        witness->n_untold++;
        return 0;
    }
    record_init(&r, "refusal");
    witness_add(witness, &r, "owner", owner && *owner ? owner : NULL);
    record_word(&r, "what", what);
    record_word(&r, "status", "refused");
    witness_add_error(witness, &r, why);
    if (witness->n_untold)
        record_number(&r, "more", witness->n_untold);
    if (witness_append(witness, owner, &r, TRAIL_EVENT, NULL, err) < 0)
        return -1;
    witness->n_untold = 0;
    return 0;
}

int witness_token(struct witness *witness, const char *event, const char *name, struct error *err)
{
    cleanup(record_done) struct record r = {0};

    if (!witness)
        return 0;
    record_init(&r, "token");
    record_word(&r, "event", event);
    witness_add(witness, &r, "owner", name);
    return witness_append(witness, name, &r, TRAIL_EVENT, NULL, err);
}

/* What stands otherwise than by default, and where it comes from. */
static void add_settings(struct witness *witness, struct record *r, const struct config *config)
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
        witness_add(witness, r, "value", text);
        witness_add(witness, r, "from", source);
        record_close(r);
    }
    record_close(r);
}

int witness_server(struct witness *witness, const char *event, const struct config *config,
                   struct error *err)
{
    cleanup(record_done) struct record r = {0};

    if (!witness)
        return 0;
    record_init(&r, "server");
    record_word(&r, "event", event);
    record_word(&r, "version", BELLJAR_VERSION);
    if (config)
        add_settings(witness, &r, config);
    return witness_append(witness, NULL, &r, TRAIL_EVENT, NULL, err);
}
