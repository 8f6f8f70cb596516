#include "cluster/trail_ship.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"

#define MS UINT64_C(1000000)

/* After an answer that says no, or none. */
#define AGAIN_NS (30000 * MS)

#define BURST_NS (TRAIL_SHIP_BURST * TRAIL_SHIP_MS * MS)

#define STREAM_BYTES (512 * (long long)MIB)
#define ANSWER_BYTES (64 * KIB)

struct trail_ship {
    char subject[CLUSTER_SUBJECT_MAX], answers[CLUSTER_SUBJECT_MAX];
    int replicas;
    char head[TRAIL_HEAD_BYTES]; /* the newest; "": none is known */
    char sent[TRAIL_HEAD_BYTES]; /* the last that was sent */
    bool is_kept;                /* the servers have it */
    bool is_making;              /* the stream */
    uint64_t next_ns;            /* not before */
    uint64_t paid_ns;            /* until when the heads that were sent use up their share */
    char said[256];              /* the last complaint */
};

struct trail_ship *trail_ship_new(const struct settings *settings)
{
    struct trail_ship *ship = calloc(1, sizeof(*ship));

    if (!ship)
        return NULL;
    (void)snprintf(ship->subject, sizeof(ship->subject), TRAIL_SUBJECTS "%s", settings->name);
    (void)snprintf(ship->answers, sizeof(ship->answers), CLUSTER_SUBJECTS ".trails.node.%s",
                   settings->name);
    ship->replicas = (int)settings->replicas;
    return ship;
}

void trail_ship_free(struct trail_ship *ship)
{
    free(ship);
}

const char *trail_ship_subject(const struct trail_ship *ship)
{
    return ship->answers;
}

void trail_ship_note(struct trail_ship *ship, const json_t *head)
{
    const char *text = json_string_value(head);

    if (text && strlen(text) < sizeof(ship->head))
        (void)snprintf(ship->head, sizeof(ship->head), "%s", text);
}

static void send_to(const struct trail_ship *ship, struct bus *bus, const char *subject,
                    const char *text)
{
    struct packet *packet = packet_copy(text, strlen(text));

    if (packet)
        bus_send(bus, subject, ship->answers, packet);
    packet_unref(packet);
}

void trail_ship_tick(struct trail_ship *ship, struct bus *bus, uint64_t now_ns)
{
    bool is_new = strcmp(ship->head, ship->sent) != 0;
    bool was_kept = ship->is_kept || !*ship->sent;
    uint64_t share = TRAIL_SHIP_MS * MS;

    if (!*ship->head || now_ns < ship->next_ns || (!is_new && ship->is_kept) || !bus_is_up(bus))
        return;
    memcpy(ship->sent, ship->head, sizeof(ship->sent));
    ship->is_kept = ship->is_making = false;
    ship->paid_ns = (ship->paid_ns > now_ns ? ship->paid_ns : now_ns) + share;
    ship->next_ns = now_ns + (was_kept ? share : AGAIN_NS);
    send_to(ship, bus, ship->subject, ship->sent);
}

/* The same, whoever makes it: the servers refuse another form of it. */
static void make_stream(struct trail_ship *ship, struct bus *bus)
{
    char text[768];

    (void)snprintf(text, sizeof(text),
                   "{\"name\":\"" TRAIL_STREAM "\",\"subjects\":[\"" TRAIL_SUBJECTS "*\"],"
                   "\"retention\":\"limits\",\"max_consumers\":-1,\"max_msgs\":-1,"
                   "\"max_bytes\":%lld,\"max_age\":0,\"max_msgs_per_subject\":%d,"
                   "\"max_msg_size\":%d,\"discard\":\"old\",\"storage\":\"file\","
                   "\"num_replicas\":%d,\"deny_delete\":true,\"deny_purge\":true}",
                   STREAM_BYTES, TRAIL_HEADS, (int)TRAIL_HEAD_BYTES, ship->replicas);
    ship->is_making = true;
    send_to(ship, bus, TRAIL_STREAM_CREATE, text);
}

static void complain(struct trail_ship *ship, const char *why)
{
    ship->next_ns = loop_now_ns() + AGAIN_NS;
    if (strcmp(why, ship->said) == 0)
        return;
    (void)snprintf(ship->said, sizeof(ship->said), "%s", why);
    LOG_EVENT(LOG_WARNING, "trail",
              {"message", "the head of the audit trail is not kept on the bus"}, {"reason", why});
}

/* {"stream", "seq"} of a head; {"type", "config"} of a new stream; {"error": {"description"}}. */
static void take_answer(struct trail_ship *ship, const struct bus_message *message)
{
    static const struct json_text_limits limits = {.bytes = ANSWER_BYTES, .depth = 8};
    cleanup_json json_t *answer = NULL;
    const json_t *error;

    if (json_text_load(message->data, message->len, &limits, &answer, NULL) < 0) {
        complain(ship, "the answer of the server is no JSON");
        return;
    }
    error = json_object_get(answer, "error");
    if (error) {
        complain(ship, json_get_text(error, "description"));
    } else if (json_object_get(answer, "type")) {
        ship->next_ns = 0; /* there is a stream: it is sent again */
    } else {
        ship->is_kept = true;
        ship->next_ns = ship->paid_ns > BURST_NS ? ship->paid_ns - BURST_NS : 0;
        *ship->said = '\0';
    }
}

bool trail_ship_take(struct trail_ship *ship, struct bus *bus, const struct bus_message *message)
{
    if (strcmp(message->subject, ship->answers) != 0)
        return false;
    if (!message->has_no_responders)
        take_answer(ship, message);
    else if (!ship->is_making)
        make_stream(ship, bus);
    else
        complain(ship, "the servers of the bus keep nothing now (JetStream)");
    return true;
}
