/* One exchange as either side sees it: numbered frames in both directions, each in order and once,
 * over a bus that may lose some. What was not acknowledged is kept, and sent again when the other
 * side asks. A side that cannot go on resets the exchange; nothing is ever left out in silence.
 *
 * The owner gives it all frames of its exchange, and says when it has used what it was given: only
 * then is the sender told that it may send more.
 */
#pragma once

#include "cluster/bus.h"
#include "cluster/frame.h"

struct stream {
    struct bus *bus;
    char subject[CLUSTER_SUBJECT_MAX]; /* of the other side */
    char reply[CLUSTER_SUBJECT_MAX];   /* with OPEN: where the server says that nobody is there */
    uint64_t instance, exchange;

    TAILQ_HEAD(packets, packet) kept; /* sent, and not acknowledged */
    size_t kept_bytes;
    uint64_t next_out;
    uint64_t moved_ns; /* of `kept`: when the first was sent, or some were acknowledged */
    bool has_ended;    /* the last one was sent */
    bool is_torn;      /* there was no memory for one: the exchange has to end */

    uint64_t next_in;
    size_t unacked_in;  /* bytes that were given to the owner since the last acknowledgement */
    bool is_used;       /* the owner has used all that it was given */
    uint64_t asked_for; /* the number that AGAIN asked for, plus one */
    uint64_t asked_ns;
    uint64_t heard_ns;
    bool is_over_in; /* the last one has come */
};

void stream_init(struct stream *s, struct bus *bus, const char *subject, uint64_t instance,
                 uint64_t exchange);
void stream_done(struct stream *s);

/* Whether the owner may send more. A frame is always sent whole, so a bit more is kept. */
static inline bool stream_has_room(const struct stream *s)
{
    return s->kept_bytes < CLUSTER_WINDOW;
}

/* A numbered frame. With `before` the payload begins with that word (OPEN). */
void stream_send(struct stream *s, enum frame_type type, unsigned flags, const void *data,
                 size_t len);
void stream_send_open(struct stream *s, unsigned flags, uint32_t word, const void *data,
                      size_t len);

/* DATA frames. */
void stream_write(struct stream *s, const void *data, size_t len);

/* The end of this direction: an empty frame. */
void stream_end(struct stream *s);

/* A frame without a number. `number`: what ACK, AGAIN and STATE have. */
void stream_say_word(struct stream *s, enum frame_type type, uint32_t word);

/* Says RESET for an exchange that is not there. */
void stream_refuse(struct bus *bus, const char *subject, const struct frame *frame,
                   enum frame_reason reason);

/* Sends everything that was sent so far to another one, as a new exchange; only while nothing has
 * been acknowledged. */
void stream_move(struct stream *s, const char *subject, const char *reply, uint64_t exchange);

enum stream_result {
    STREAM_NOTHING, /* it has been dealt with */
    STREAM_TAKE,    /* a numbered frame, the next one: the owner's to handle */
    STREAM_ROOM,    /* more has been acknowledged */
    STREAM_OTHER,   /* VERDICT or RESET: the owner's */
    STREAM_BROKEN,
};

enum stream_result stream_take(struct stream *s, const struct frame *frame);

/* The owner has used all it was given. `is_last`: say so even if it is little. */
void stream_used(struct stream *s, bool is_last);

/* Asks whether the other side still knows the exchange: it answers with ACK, AGAIN or RESET. */
void stream_ask(struct stream *s);

/* Now and then: asks after what was not acknowledged, and whether the other side still knows the
 * exchange. */
void stream_tick(struct stream *s, uint64_t now_ns);
