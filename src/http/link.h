/* A listener process (src/listener/) as the engine sees it: started, spoken to, and started again
 * when it ends. What it says is only known to be a frame that a listener may send
 * (http/listener_message.h).
 */
#pragma once

#include "base/error.h"
#include "base/group_sync.h"
#include "base/loop.h"
#include "http/listener_message.h"

struct evbuffer;
struct http_link;
struct shared;

struct http_link_events {
    /* A frame other than READY and FAILED. Returns -1 when it breaks the rules: on_down follows. */
    int (*on_frame)(void *user, struct http_link *link, const struct listener_frame *frame);
    /* It takes connections: at its start and after each restart. */
    void (*on_up)(void *user, struct http_link *link);
    /* It is gone, and with it all connections that it has got. Another one is started soon. */
    void (*on_down)(void *user, struct http_link *link);
    /* A descriptor that http_link_pass() could not send can be sent now. */
    void (*on_room)(void *user, struct http_link *link);
};

/* Starts it and waits until it is confined. The settings are copied. `disk`: what it is told waits
 * for that (base/disk_hold.h), or NULL. */
int http_link_open(struct loop *loop, const struct listener_setup *setup,
                   const struct http_link_events *events, void *user, struct group_sync *disk,
                   struct http_link **ret_link, struct error *err);

/* Ends it and waits for its end; on_down is not called. Accepts NULL. */
void http_link_free(struct http_link *link);

bool http_link_is_up(const struct http_link *link);

/* Hands a connection's descriptor over; it stays open here. 1: there is no room now, on_room or
 * on_up follows. */
int http_link_pass(struct http_link *link, const struct listener_connection *connection, int fd);

/* Frames are collected until http_link_flush(). Nothing here fails: a listener that is gone hears
 * nothing, and out of memory ends it. */
void http_link_say(struct http_link *link, enum listener_type type, uint64_t connection,
                   const void *data, size_t len);
void http_link_say_number(struct http_link *link, enum listener_type type, uint64_t connection,
                          uint32_t number);

/* DATA with the first `len` bytes of `bytes`, which are moved. */
void http_link_move(struct http_link *link, uint64_t connection, struct evbuffer *bytes,
                    size_t len);
void http_link_flush(struct http_link *link);
