/* Answers of the gateway's own, in the words of the API. */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/span.h"
#include "cluster/gateway_internal.h"

void exchange_refuse(struct exchange *x, int status, const char *code, const char *message,
                     const char *hint)
{
    struct request *request = x->request;

    if (x->is_part) {
        fan_end_part(x, true);
        return;
    }
    x->request = NULL;
    if (request) {
        request->on_gone = NULL;
        request_answer_json(request, status,
                            json_pack("{s:{s:s, s:s, s:s}}", "error", "code", code, "message",
                                      message, "hint", hint));
    }
    exchange_free(x);
}

void exchange_refuse_unsure(struct exchange *x)
{
    if (x->target.is_job || span_starts_with(x->head->path, "/v1/jobs"))
        exchange_refuse(x, 503, "unavailable",
                        "the cluster cannot tell now which node has this job",
                        "ask again in a moment: it may be on its way to another machine");
    else if (x->has_key)
        exchange_refuse(x, 503, "unavailable",
                        "the cluster cannot tell now which node has this Idempotency-Key",
                        "try again in a moment");
    else
        exchange_refuse(x, 503, "unavailable",
                        "the cluster cannot tell now which node has this name",
                        "try again in a moment, or use the session's id");
}

void exchange_refuse_lost(struct exchange *x)
{
    char message[160];

    (void)snprintf(message, sizeof(message), "the node `%s`, which %s, is gone", x->node,
                   x->target.is_session ? "has this session" : "the id names");
    if (x->target.is_session)
        exchange_refuse(x, 410, "session_lost", message, "open a new session; its files are lost");
    else
        exchange_refuse(x, 410, "node_lost", message, "the node may come back; then ask again");
}
