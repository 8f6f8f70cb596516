/* From where connections come, and how many from each place: an IPv4 address, the network of an
 * IPv6 address that one customer has (/64), or the user behind a Unix socket.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/loop.h"

#define HTTP_PEER_BUCKETS 1024
#define HTTP_PEER_KEY     16

struct http_peer {
    LIST_ENTRY(http_peer) link;
    uint8_t key[HTTP_PEER_KEY];
    size_t count;          /* of its connections */
    struct loop_line line; /* handshakes of TLS */
};

struct http_peers {
    LIST_HEAD(http_peer_bucket, http_peer) buckets[HTTP_PEER_BUCKETS];
};

/* The place. `uid` counts where the address is that of a Unix socket. */
void http_peer_key(const struct sockaddr *address, uid_t uid, uint8_t ret_key[HTTP_PEER_KEY]);

/* "127.0.0.1", "2001:db8:1::/64", "user 1000": for people. */
void http_peer_text(const uint8_t key[HTTP_PEER_KEY], char *text, size_t size);

/* One more connection from there. NULL: out of memory. */
struct http_peer *http_peer_join(struct http_peers *peers, const uint8_t key[HTTP_PEER_KEY]);

/* One less; the last takes the place with it. Accepts NULL. */
void http_peer_leave(struct http_peer *peer);
