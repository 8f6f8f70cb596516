/* WebSocket (RFC 6455) for handlers: messages in, messages out.
 *
 * The listener reads frames (http/websocket_frame.h); here pieces become messages, pings are
 * answered, silent clients are asked whether they live, and the end is said. No extension is
 * offered. Messages come one at a time: the next one when websocket_next() was called. What comes
 * meanwhile waits within the window of the connection, and so does the client.
 *
 * A client that does not read is not read either, and its connection ends where it leaves too much
 * unread. Texts are not checked to be UTF-8: whoever reads them does (base/json.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/loop.h"
#include "http/request.h"
#include "http/websocket_frame.h"

struct websocket;

struct websocket_options {
    struct loop *loop;
    struct loop_line *line; /* in which its messages wait for a turn; NULL: a place of their own */
    uint32_t max_message;   /* bytes */
    uint64_t idle_ms;       /* a client that says nothing for so long is gone */
    const char *protocol;   /* that was chosen of those offered, or NULL */

    /* One message, lent until websocket_next(). */
    void (*on_message)(void *user, bool is_text, const char *data, size_t len);
    void (*on_drained)(void *user); /* there is room to send again; optional */
    /* It has ended, and is gone; not after websocket_close(). */
    void (*on_closed)(void *user);
    void *user;
};

/* Whether the client asks for it, and does so properly. False: the request has been answered. */
bool websocket_is_asked(struct request *request);

/* Whether the client offers that subprotocol. */
bool websocket_offers(const struct request *request, const char *protocol);

/* Answers 101 and takes the request over. NULL: out of memory; the request has been answered. */
struct websocket *websocket_accept(struct request *request,
                                   const struct websocket_options *options);

/* Returns false when the reader is behind: nothing more should be sent until on_drained. */
bool websocket_send(struct websocket *socket, bool is_text, const void *data, size_t len);

/* The message is done with. */
void websocket_next(struct websocket *ws);

/* Says why, and ends it. */
void websocket_close(struct websocket *ws, int code, const char *why);

/* The answer to a key of 24 characters (4.2.2): 28 characters and a NUL. */
#define WEBSOCKET_ACCEPT_SIZE 29
void websocket_accept_key(struct span key, char text[WEBSOCKET_ACCEPT_SIZE]);
