/* Messages between `belljar serve` (the engine) and `belljar-listener`.
 *
 * The listener reads what strangers send: TLS, heads, the framing of bodies. It holds no key but
 * that of TLS, no token and no file. The engine accepts connections, hands their descriptors over,
 * and gets requests as fields and pieces. It trusts none of them: listener_frame_parse() has a
 * table of what each side may say and how long that is, listener_head_read() looks at every field
 * again, and http/server.c knows what may come in which state. Anything else ends the listener.
 *
 * Two sockets. On LISTENER_LINK, a stream, are frames in both directions: a header of
 * LISTENER_HEADER_BYTES and a body. On LISTENER_CONNECTIONS, packets from the engine alone, each a
 * struct listener_connection with the descriptor beside it. A connection is on its way before
 * anything is said about it.
 *
 *     engine                         listener
 *     SETUP                      ->
 *                                <-  READY, or FAILED and its end
 *     (a connection)             ->
 *                                <-  HEAD, BODY..., WHOLE    a request
 *     DATA..., END               ->                          its answer, as bytes of HTTP
 *                                <-  WRITTEN                 what of it has left
 *
 * An answer that changes the protocol (101) has OPEN behind its head, and the connection carries
 * no HTTP any more. What the client sends comes as FRAME, for WebSocket, or as BODY, for bytes that
 * somebody else reads, until END or the connection's end.
 *
 * Bytes on their way are bounded in both directions: LISTENER_WINDOW for each connection.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/http1.h"
#include "base/limits.h"
#include "http/peer.h"
#include "http/tls.h"
#include "wire/pack.h"

/* Descriptors of the listener. */
#define LISTENER_LINK        3
#define LISTENER_CONNECTIONS 4

#define LISTENER_HEADER_BYTES 16
#define LISTENER_PIECE        (64 * KIB)
#define LISTENER_WINDOW       (256 * KIB)
#define LISTENER_PEM_BYTES    TLS_PEM_BYTES
#define LISTENER_FRAME_MAX    (2 * LISTENER_PEM_BYTES + 64)

enum listener_side { LISTENER_ENGINE, LISTENER_ITSELF };

enum listener_type {
    /* by the engine */
    LISTENER_SETUP = 1, /* once, first: struct listener_setup */
    LISTENER_STOP,      /* connections end when they rest */
    LISTENER_DATA,      /* bytes for the client */
    LISTENER_END,       /* the answer is over; a byte says whether the connection is, too */
    LISTENER_CUT,       /* close it now */
    LISTENER_TAKEN,     /* a number: bytes of the body that have been taken */
    LISTENER_OPEN,      /* the protocol changes; a number: bytes of a WebSocket message, or 0 */
    /* by the listener */
    LISTENER_READY = 64, /* it is confined and takes connections */
    LISTENER_FAILED,     /* why it is not, as text */
    LISTENER_HEAD,       /* struct http_head, as listener_head_write() packs it */
    LISTENER_BODY,       /* a piece of the body */
    LISTENER_WHOLE,      /* the body is over */
    LISTENER_MISTAKE,    /* it is not HTTP: a status and words; nothing more of it follows */
    LISTENER_WRITTEN,    /* a number: bytes that the client's socket has taken */
    LISTENER_GONE,       /* the connection is closed */
    LISTENER_FRAME,      /* a byte of flags and a piece of a message (http/websocket_frame.h) */
    LISTENER_BROKEN,     /* a number: the reason why WebSocket ends; nothing more of it follows */
};

struct listener_frame {
    enum listener_type type;
    uint64_t connection;
    const char *data; /* in the bytes that were parsed */
    size_t len;
};

/* A FRAME counts so much against LISTENER_WINDOW: many short ones are not cheaper than a long one.
 */
static inline size_t listener_cost(size_t len)
{
    return len + LISTENER_HEADER_BYTES;
}

/* The header of a frame with `len` bytes. */
void listener_frame_header(uint8_t header[LISTENER_HEADER_BYTES], enum listener_type type,
                           uint64_t connection, size_t len);

/* Returns how many bytes the first frame takes, 0 when it is not all there, -1 when that side must
 * not say it. */
ssize_t listener_frame_parse(const void *data, size_t len, enum listener_side from,
                             struct listener_frame *ret_frame);

/* Facts that go with a descriptor. */
struct listener_connection {
    uint64_t connection;
    uint8_t peer[HTTP_PEER_KEY];
    uint8_t is_tls;
};

/* --- bodies of frames --- */

struct listener_setup {
    uint64_t idle_ms;
    uint64_t connections; /* at most */
    struct span cert;     /* PEM; empty: there is no TLS */
    struct span key;
};

void listener_setup_write(struct pack *p, const struct listener_setup *setup);
bool listener_setup_read(const struct listener_frame *frame, struct listener_setup *ret_setup);

/* `is_waiting`: the client waits for 100 Continue before it sends the body. */
void listener_head_write(struct pack *p, const struct http_head *head, bool is_waiting);

/* Points into the frame. False: the listener must not have let it through. */
bool listener_head_read(const struct listener_frame *frame, struct http_head *ret_head);

/* At most this many bytes of printable ASCII. */
#define LISTENER_WORDS_MAX 160

struct listener_mistake {
    int status;
    char words[LISTENER_WORDS_MAX + 1];
};

void listener_mistake_write(struct pack *p, const struct http_refusal *why);
bool listener_mistake_read(const struct listener_frame *frame,
                           struct listener_mistake *ret_mistake);

/* Of END, TAKEN, OPEN, WRITTEN and BROKEN. */
uint32_t listener_number(const struct listener_frame *frame);
