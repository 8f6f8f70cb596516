/* Frames: the one place that reads them and writes their headers. cluster/cluster.h has the layout.
 *
 * Pure functions over bytes: nothing is allocated, and a frame's payload points into its bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cluster/cluster.h"
#include "wire/pack.h"

#define FRAME_HEADER 32
#define FRAME_MAX    (FRAME_HEADER + CLUSTER_PAYLOAD_MAX)

enum frame_type {
    FRAME_OPEN = 1,
    FRAME_GO,
    FRAME_HEAD,
    FRAME_DATA,
    FRAME_VERDICT,
    FRAME_ACK,
    FRAME_AGAIN,
    FRAME_STATE,
    FRAME_RESET,
};

enum frame_side { FRAME_GATEWAY = 1, FRAME_NODE = 2 };

/* The last numbered frame of its direction. */
#define FRAME_END 1

/* Of OPEN. */
#define OPEN_FRESH 1u

enum frame_verdict { VERDICT_ACCEPTED = 1, VERDICT_BUSY, VERDICT_DRAINING, VERDICT_NO_ENGINE };

/* The word of a verdict: which, and the room of the node then. A heartbeat is up to 300 ms old: for
 * programs that are shorter, a choice by heartbeats alone is worse than one by chance. */
#define VERDICT_MASK       0xffu
#define VERDICT_ROOM_SHIFT 8
#define VERDICT_ROOM_MAX   0xffffff

enum frame_reason {
    RESET_CANCELLED = 1, /* the client left */
    RESET_UNKNOWN,       /* there is no such exchange */
    RESET_BROKEN,        /* a frame is missing and cannot be had any more, or breaks the rules */
    RESET_ENGINE,        /* the engine ended its answer early, or cannot be reached */
    RESET_REFUSED,       /* the node does not pass such a request on */
    RESET_FULL,          /* the node has no room for the exchange */
    RESET_STOPPED,       /* the node stops */
    RESET_NOT_BEGUN,     /* the engine cannot be reached: nothing has begun */
    RESET_ELSEWHERE,     /* a durable job that this engine does not have, and the bus has */
    RESET_NOT_KEPT,      /* a durable job is over, and the bus does not know yet */
};

struct frame {
    uint8_t type, flags;
    uint64_t instance, exchange, number;
    struct span payload;
};

/* The first of a message, which holds one or more: returns its bytes. -1: it breaks the layout, or
 * is none that this side sends. */
ssize_t frame_read(const char *data, size_t len, enum frame_side from, struct frame *ret_frame);

/* `frame->payload.len` bytes follow. */
void frame_write_header(uint8_t header[FRAME_HEADER], const struct frame *frame);

/* OPEN, GO, HEAD and DATA. */
bool frame_is_numbered(const struct frame *frame);

/* The payload of VERDICT and RESET, or 0. */
uint32_t frame_word(const struct frame *frame);

/* The payload of OPEN: its flags, and the head. False: it is too short. */
bool frame_read_open(const struct frame *frame, uint32_t *ret_flags, struct span *ret_head);

/* "belljar.v1.node.a1.b2" is KIND "node", "a1" and the sender "b2". False: it is none of ours. */
struct subject_names {
    char name[13], sender[13];
};

bool subject_read(const char *subject, const char *kind, struct subject_names *ret_names);

/* The decimal exchange of a reply subject on which nobody but the server speaks. */
bool subject_read_reply(const char *subject, uint64_t *ret_exchange);
