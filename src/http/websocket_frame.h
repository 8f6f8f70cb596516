/* Frames of WebSocket (RFC 6455, 5): the one reader and the one writer.
 *
 * The listener reads what clients send and passes the payload on, unmasked, in pieces. A piece is
 * as a frame is: an opcode, and whether it ends its message. A long frame becomes several pieces,
 * all but the first of them continuations; a control frame is one piece. The engine checks the
 * order of pieces again (http/websocket.c).
 *
 * Refused: reserved bits and opcodes, frames without a mask, lengths that are not in their shortest
 * form, control frames that are long or in parts, messages inside of messages, and messages that
 * are too long.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum websocket_opcode {
    WEBSOCKET_MORE = 0, /* of the message before */
    WEBSOCKET_TEXT = 1,
    WEBSOCKET_BINARY = 2,
    WEBSOCKET_CLOSE = 8,
    WEBSOCKET_PING = 9,
    WEBSOCKET_PONG = 10,
};

/* Beside the opcode: the piece ends its message. */
#define WEBSOCKET_LAST 0x80

#define WEBSOCKET_CONTROL_MAX ((size_t)125)
#define WEBSOCKET_HEADER_MAX  ((size_t)14)

/* Reasons for the end (7.4.1). */
enum {
    WEBSOCKET_NORMAL = 1000,
    WEBSOCKET_GOING_AWAY = 1001,
    WEBSOCKET_PROTOCOL = 1002,
    WEBSOCKET_BAD_DATA = 1007,
    WEBSOCKET_POLICY = 1008,
    WEBSOCKET_TOO_BIG = 1009,
    WEBSOCKET_INTERNAL = 1011,
    WEBSOCKET_TRY_LATER = 1013,
};

static inline bool websocket_is_control(unsigned opcode)
{
    return (opcode & 8) != 0;
}

/* The order of pieces of one connection, and the length of a message. */
struct websocket_order {
    uint64_t max;    /* bytes of a message */
    uint64_t length; /* of the one that is not over */
    bool is_within;  /* there is one */
};

/* Whether a piece, or a frame, of that length may come next; 0, or the reason for the end. */
int websocket_order_next(struct websocket_order *order, unsigned flags, uint64_t len);

struct websocket_reader {
    struct websocket_order order;
    uint64_t left;  /* of the frame's payload */
    bool is_within; /* a frame */
    bool is_last;   /* frame of its message */
    uint8_t opcode; /* of the next piece */
    uint8_t mask[4];
    unsigned at; /* in the mask */
};

struct websocket_piece {
    uint8_t flags; /* opcode, and WEBSOCKET_LAST */
    uint8_t *data; /* within what was read */
    size_t len;
};

/* Takes the next piece from `data`, whose bytes are unmasked in place. Returns 1: there is one; 0:
 * more bytes are needed; -1: the rules are broken, and *ret_code is the reason for the end.
 * *ret_used bytes are done with and must not be shown again. */
int websocket_read(struct websocket_reader *reader, uint8_t *data, size_t len,
                   struct websocket_piece *ret_piece, size_t *ret_used, int *ret_code);

/* The header of a frame from a server, which is a whole message. Returns its length. */
size_t websocket_header(uint8_t header[WEBSOCKET_HEADER_MAX], unsigned opcode, uint64_t len);
