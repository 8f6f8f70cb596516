/* The connection to NATS. libnats has threads of its own and calls that block; both stay behind
 * this header. What arrives is handed to the event loop through a queue and an eventfd; what leaves
 * goes through a queue to one thread that writes. Nothing here blocks the loop.
 *
 * The connection is made, and made again, for ever. While it is down, what is sent is kept by
 * libnats up to its limit and then lost: cluster/stream.h finds out and sends it again.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/error.h"
#include "base/loop.h"

struct bus;

/* Bytes that several hold: the queue, and whoever may have to send them again. */
struct packet {
    TAILQ_ENTRY(packet) link; /* of its owner on the loop's side */
    atomic_uint refs;
    uint64_t number;
    size_t len;
    char data[];
};

/* NULL: out of memory. */
struct packet *packet_new(size_t len);
struct packet *packet_copy(const void *data, size_t len);
void packet_unref(struct packet *packet); /* accepts NULL */

struct bus_message {
    const char *subject;
    const char *reply; /* "" : none is wanted */
    const char *data;
    size_t len;
    bool has_no_responders; /* from the server: nobody listens where this was the reply subject */
};

struct bus_options {
    const char *name;           /* of the connection, for the server's operator */
    const char *const *servers; /* NULL at the end */
    const char *ca;             /* PEM file: TLS; NULL: none */
    const char *cert, *key;     /* PEM files, or NULL */
    const char *user, *password;
    const char *const *subjects; /* to subscribe to; NULL at the end */
    /* On the loop. */
    void (*on_message)(void *user, const struct bus_message *message);
    void (*on_state)(void *user, bool is_up);
    void *user_data;
};

/* Returns without waiting for a server that cannot be reached. */
int bus_new(struct loop *loop, const struct bus_options *options, struct bus **ret_bus,
            struct error *err);

/* Writes all messages that were sent before. The process ends soon: what threads of libnats may
 * still hold is not freed. Accepts NULL. */
void bus_close(struct bus *bus);

bool bus_is_up(const struct bus *bus);

/* All servers refuse its certificate; the loop was stopped. Accepts NULL. */
bool bus_is_refused(const struct bus *bus);

/* libnats's own handle, for calls that wait, on threads that may. */
struct __natsConnection *bus_connection(struct bus *bus);

/* Takes a reference of its own. `reply`: NULL, or where the server says that nobody listens. */
void bus_send(struct bus *bus, const char *subject, const char *reply, struct packet *packet);

/* Sends a frame (cluster/frame.h), which shares its message with others of this turn to that
 * subject. `can_wait`: it may leave with the next one, or BUS_WAIT_MS later. */
#define BUS_WAIT_MS 50
void bus_send_frame(struct bus *bus, const char *subject, const char *reply, struct packet *packet,
                    bool can_wait);

/* Sends a message to JetStream, to be stored only over the message of that sequence, or over none
 * (0).
 */
void bus_send_after(struct bus *bus, const char *subject, const char *reply, struct packet *packet,
                    uint64_t sequence);

/* Copies the bytes. */
void bus_send_bytes(struct bus *bus, const char *subject, const void *data, size_t len);
