/* One end of a channel in the supervisor: a socket, the frames that come from it, and the table of
 * what may come when.
 *
 * A peer that sends anything the table does not permit in its present state is reported as broken,
 * once; nothing of what it sends afterwards is looked at.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/loop.h"
#include "wire/frame.h"

struct peer;

struct peer_events {
    /* A permitted message. The peer's state has already moved on. */
    void (*on_message)(void *owner, const struct frame *frame);
    /* The stream ended, or the peer broke the rules (`why` says which; NULL: it ended). No more
     * calls follow. */
    void (*on_end)(void *owner, const char *why);
    /* Something is there and will be read next. A peer that waits until it is has said nothing else
     * since. false: not now, later. Optional. */
    bool (*before_read)(void *owner);
    /* Called after the available input was handled, with the CPU time that took. Optional. */
    void (*after_read)(void *owner, uint64_t cpu_ns);
    /* The owner is still in the middle of a message: its body stays where it is, and nothing is
     * read until peer_go_on(). Optional. */
    bool (*is_busy)(void *owner);
};

struct peer {
    int fd;           /* what comes */
    int out_fd;       /* what goes; the same, unless the channel has two halves */
    bool out_is_pipe; /* found out with the first message */
    struct loop *loop;
    struct loop_watch *watch;  /* reading */
    struct loop_work reading;  /* of a kernel, of whose messages some may come without end */
    struct loop_watch *writer; /* exists while bytes wait to be sent */
    struct frame_decoder decoder;
    struct buf rest; /* was read behind a message that keeps the owner busy */
    struct buf pending;
    enum wire_channel channel;
    enum wire_state state;
    size_t awaited_fds; /* that pid 1 was asked for and has not sent; the owner counts them */
    size_t extra_fds;   /* that may come with the first word, beside one; the owner sets it */
    uint32_t sent[WIRE_TYPE_END];
    const struct peer_events *events;
    void *owner;
    bool is_over;
};

/* Takes over `fd`, and `out_fd` where that is another one; neither may block. */
int peer_init(struct peer *peer, struct loop *loop, int fd, int out_fd, enum wire_channel channel,
              const struct peer_events *events, void *owner, struct error *err);
void peer_done(struct peer *peer);

/* Sends now what the socket takes; the rest follows when it can. The descriptors go with the first
 * byte and are still the caller's. */
int peer_send(struct peer *peer, enum wire_type type, const struct pack *body, const int *fds,
              size_t n_fds, struct error *err);

/* Whether a function of these failed because the other side has ended. */
bool peer_was_gone(const struct error *err);

/* As peer_send() for bytes that are no frame: what a Bash kernel reads. */
int peer_send_bytes(struct peer *peer, const void *data, size_t len, struct error *err);

/* Later messages go to `fd`, which is taken over. Nothing may be waiting. */
int peer_redirect(struct peer *peer, int fd, struct error *err);

/* Its state is `state` from here on, and what it may say there is counted anew. */
void peer_enter(struct peer *peer, enum wire_state state);

/* Stops reading, or goes on: what it says waits in its pipe. */
int peer_hold(struct peer *peer, bool is_held, struct error *err);

/* The owner is not busy any more. */
void peer_go_on(struct peer *peer);

/* Reads once what has arrived, without waiting. Returns how many bytes, 0 when there were none. */
size_t peer_read_some(struct peer *peer);

/* Reads everything that has arrived, without waiting; not what a peer writes meanwhile, without
 * end.
 */
void peer_drain(struct peer *peer);
