#include "cluster/outbox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/cluster.h"

/* Subjects at a time: a gateway has one for each node, a node one for each gateway. */
#define LANES_MAX (2 * CLUSTER_NAMES_MAX)

/* The frames for one subject; never empty. */
struct lane {
    TAILQ_ENTRY(lane) link;
    char subject[CLUSTER_SUBJECT_MAX], reply[CLUSTER_SUBJECT_MAX];
    struct packet *packets[OUTBOX_FRAMES];
    size_t count, bytes;
    bool is_due;
};

struct outbox {
    outbox_fn fn;
    void *user;
    TAILQ_HEAD(, lane) lanes;
    size_t n_lanes;
};

struct outbox *outbox_new(outbox_fn fn, void *user)
{
    struct outbox *outbox = calloc(1, sizeof(*outbox));

    if (!outbox)
        return NULL;
    outbox->fn = fn;
    outbox->user = user;
    TAILQ_INIT(&outbox->lanes);
    return outbox;
}

static void remove_lane(struct outbox *outbox, struct lane *lane)
{
    for (size_t i = 0; i < lane->count; i++)
        packet_unref(lane->packets[i]);
    TAILQ_REMOVE(&outbox->lanes, lane, link);
    outbox->n_lanes--;
    free(lane);
}

void outbox_free(struct outbox *outbox)
{
    if (!outbox)
        return;
    while (!TAILQ_EMPTY(&outbox->lanes))
        remove_lane(outbox, TAILQ_FIRST(&outbox->lanes));
    free(outbox);
}

/* NULL: out of memory. */
static struct packet *join(const struct lane *lane)
{
    struct packet *whole = packet_new(lane->bytes);
    size_t at = 0;

    for (size_t i = 0; whole && i < lane->count; i++) {
        memcpy(whole->data + at, lane->packets[i]->data, lane->packets[i]->len);
        at += lane->packets[i]->len;
    }
    return whole;
}

/* Without memory each frame is a message. */
static void send_lane(struct outbox *outbox, struct lane *lane)
{
    struct packet *whole = lane->count > 1 ? join(lane) : NULL;

    if (whole)
        outbox->fn(outbox->user, lane->subject, lane->reply, whole);
    for (size_t i = 0; !whole && i < lane->count; i++)
        outbox->fn(outbox->user, lane->subject, lane->reply, lane->packets[i]);
    packet_unref(whole);
    remove_lane(outbox, lane);
}

static struct lane *find(struct outbox *outbox, const char *subject)
{
    struct lane *lane;

    TAILQ_FOREACH(lane, &outbox->lanes, link) {
        if (strcmp(lane->subject, subject) == 0)
            return lane;
    }
    return NULL;
}

/* NULL: out of memory. */
static struct lane *open_lane(struct outbox *outbox, const char *subject)
{
    struct lane *lane;

    if (outbox->n_lanes == LANES_MAX)
        outbox_flush(outbox, true);
    lane = calloc(1, sizeof(*lane));
    if (!lane)
        return NULL;
    (void)snprintf(lane->subject, sizeof(lane->subject), "%s", subject);
    TAILQ_INSERT_TAIL(&outbox->lanes, lane, link);
    outbox->n_lanes++;
    return lane;
}

static bool has_room(const struct lane *lane, const char *reply, const struct packet *packet)
{
    return lane->count < OUTBOX_FRAMES && lane->bytes + packet->len <= OUTBOX_BYTES &&
           !(*reply && *lane->reply);
}

void outbox_add(struct outbox *outbox, const char *subject, const char *reply,
                struct packet *packet, bool can_wait)
{
    struct lane *lane = find(outbox, subject);

    reply = reply ? reply : "";
    if (lane && !has_room(lane, reply, packet)) {
        send_lane(outbox, lane);
        lane = NULL;
    }
    if (!lane)
        lane = open_lane(outbox, subject);
    if (!lane) {
        outbox->fn(outbox->user, subject, reply, packet);
        return;
    }
    if (*reply)
        (void)snprintf(lane->reply, sizeof(lane->reply), "%s", reply);
    (void)atomic_fetch_add(&packet->refs, 1);
    lane->packets[lane->count++] = packet;
    lane->bytes += packet->len;
    lane->is_due |= !can_wait;
}

void outbox_flush(struct outbox *outbox, bool is_all)
{
    struct lane *lane, *next;

    for (lane = TAILQ_FIRST(&outbox->lanes); lane; lane = next) {
        next = TAILQ_NEXT(lane, link);
        if (is_all || lane->is_due)
            send_lane(outbox, lane);
    }
}
