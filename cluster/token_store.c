#include "cluster/token_store.h"

#include <stdio.h>
#include <string.h>

#include <nats/nats.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/store_place.h"
#include "cluster/store_link.h"
#include "cluster/token_list.h"

/* One answer. While servers choose a leader there is none for seconds. */
#define WAIT_MS 5000

/* Lists that the bucket remembers, for who wants to know what was. */
#define HISTORY 16

static int fail(const char *what, natsStatus s, struct error *err)
{
    const char *last = nats_GetLastError(NULL);

    if (s == NATS_NO_RESPONDERS || s == NATS_TIMEOUT) {
        error_set(err, E_SYSTEM, "%s: the servers of the bus keep nothing now (JetStream)", what);
        return error_hint(err, "most of the servers have to run, and machines.conf of each has to "
                               "be that of the machine that made the cluster");
    }
    return error_set(err, E_SYSTEM, "%s: %s", what, last && *last ? last : natsStatus_GetText(s));
}

static int open_store(struct operator_bus *bus, jsCtx **ret_js, struct error *err)
{
    jsOptions options;
    natsStatus s;

    (void)jsOptions_Init(&options);
    options.Wait = WAIT_MS;
    s = natsConnection_JetStream(ret_js, operator_connection(bus), &options);
    return s == NATS_OK ? 0 : fail("the bucket of tokens", s, err);
}

int token_store_get(struct operator_bus *bus, struct buf *ret_value, uint64_t *ret_revision,
                    struct error *err)
{
    jsCtx *js = NULL;
    natsMsg *msg = NULL;
    jsErrCode code = 0;
    natsStatus s;
    int r = 0;

    *ret_revision = 0;
    if (open_store(bus, &js, err) < 0)
        return -1;
    s = js_GetLastMsg(&msg, js, TOKEN_LIST_STREAM, TOKEN_LIST_SUBJECT, NULL, &code);
    if (s == NATS_OK) {
        *ret_revision = natsMsg_GetSequence(msg);
        r = buf_add(ret_value, natsMsg_GetData(msg), (size_t)natsMsg_GetDataLength(msg), err);
    } else if (s == NATS_NOT_FOUND || code == JSStreamNotFoundErr || code == JSNoMessageFoundErr) {
        r = error_set(err, E_NOT_FOUND, "the cluster has no list of tokens yet");
    } else {
        r = fail("read the cluster's tokens", s, err);
    }
    natsMsg_Destroy(msg);
    jsCtx_Destroy(js);
    return r;
}

static natsStatus make_bucket(jsCtx *js, int replicas)
{
    static const char *subjects[] = {"$KV." TOKEN_LIST_BUCKET ".>"};
    jsStreamConfig config;
    jsStreamInfo *info = NULL;
    natsStatus s = js_GetStreamInfo(&info, js, TOKEN_LIST_STREAM, NULL, NULL);

    jsStreamInfo_Destroy(info);
    if (s != NATS_NOT_FOUND)
        return s;
    (void)jsStreamConfig_Init(&config);
    config.Name = TOKEN_LIST_STREAM;
    config.Subjects = subjects;
    config.SubjectsLen = 1;
    config.MaxMsgsPerSubject = HISTORY;
    config.MaxMsgSize = TOKEN_LIST_BYTES;
    config.MaxBytes = (int64_t)(HISTORY + 1) * (TOKEN_LIST_BYTES + KIB);
    config.Storage = js_FileStorage;
    config.Discard = js_DiscardOld;
    config.Replicas = replicas;
    config.DenyDelete = true;
    return js_AddStream(NULL, js, &config, NULL, NULL);
}

int token_store_put(struct operator_bus *bus, const struct buf *value, uint64_t revision,
                    int replicas, struct error *err)
{
    jsCtx *js = NULL;
    jsPubOptions options;
    jsErrCode code = 0;
    natsStatus s;

    if (open_store(bus, &js, err) < 0)
        return -1;
    (void)jsPubOptions_Init(&options);
    options.MaxWait = WAIT_MS;
    options.ExpectLastSubjectSeq = revision;
    options.ExpectNoMessage = revision == 0;
    s = revision ? NATS_OK : make_bucket(js, replicas);
    if (s == NATS_OK)
        s = js_Publish(NULL, js, TOKEN_LIST_SUBJECT, buf_str(value), (int)value->len, &options,
                       &code);
    jsCtx_Destroy(js);
    if (code == JSStreamWrongLastSequenceErr)
        return error_set(err, E_BUSY, "another operator has changed the tokens just now");
    /* It is kept now; a node that is not told asks by itself. */
    if (s == NATS_OK)
        s = natsConnection_PublishString(operator_connection(bus), TOKEN_LIST_CHANGED, "");
    if (s == NATS_OK)
        s = natsConnection_FlushTimeout(operator_connection(bus), WAIT_MS);
    if (s == NATS_OK)
        return 0;
    (void)fail("write the cluster's tokens", s, err);
    return s == NATS_TIMEOUT ? error_hint(err, "they may have been kept: `belljar cluster token "
                                               "list`")
                             : -1;
}

/* The answer of JetStream, or NULL: then *ret_status says why. */
static json_t *ask(struct operator_bus *bus, const char *what, const char *question,
                   natsStatus *ret_status)
{
    static const struct json_text_limits limits = {.bytes = 8 * MIB, .depth = 8};
    char subject[64 + sizeof(STORE_STREAM)];
    json_t *value = NULL;
    natsMsg *answer = NULL;

    (void)snprintf(subject, sizeof(subject), "$JS.API.STREAM.%s." STORE_STREAM, what);
    *ret_status = natsConnection_Request(&answer, operator_connection(bus), subject, question,
                                         (int)strlen(question), WAIT_MS);
    if (*ret_status == NATS_OK &&
        json_text_load(natsMsg_GetData(answer), (size_t)natsMsg_GetDataLength(answer), &limits,
                       &value, NULL) < 0)
        *ret_status = NATS_ERR;
    natsMsg_Destroy(answer);
    return value;
}

static natsStatus delete_message(struct operator_bus *bus, const char *subject)
{
    cleanup_json json_t *found = NULL, *gone = NULL;
    char question[160];
    json_int_t sequence;
    natsStatus s;

    (void)snprintf(question, sizeof(question), "{\"last_by_subj\":\"%s\"}", subject);
    found = ask(bus, "MSG.GET", question, &s);
    sequence = json_integer_value(json_object_get(json_object_get(found, "message"), "seq"));
    if (sequence <= 0)
        return s; /* it is not there any more */
    (void)snprintf(question, sizeof(question), "{\"seq\":%lld}", (long long)sequence);
    gone = ask(bus, "MSG.DELETE", question, &s);
    return s;
}

/* Message by message: cluster/job_delete.c says why. */
int token_store_purge(struct operator_bus *bus, const uint8_t hash[SHA256_BYTES], struct error *err)
{
    char place[STORE_PLACE_SIZE], filter[128];
    cleanup_json json_t *listed = NULL;
    const char *subject;
    json_t *count;
    natsStatus s;

    store_place(hash, place);
    (void)snprintf(filter, sizeof(filter), "{\"subjects_filter\":\"" STORE_SUBJECTS "%s.>\"}",
                   place);
    listed = ask(bus, "INFO", filter, &s); /* an error where there is no such stream */
    json_object_foreach(json_object_get(json_object_get(listed, "state"), "subjects"), subject,
                        count)
    {
        if (s == NATS_OK && strlen(subject) < 128)
            s = delete_message(bus, subject);
    }
    return s == NATS_OK ? 0 : fail("remove its skills and states", s, err);
}
