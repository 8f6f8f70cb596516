#include "http/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An IPv4 address that came as IPv6 is the same place. */
void http_peer_key(const struct sockaddr *address, uid_t uid, uint8_t key[HTTP_PEER_KEY])
{
    memset(key, 0, HTTP_PEER_KEY);
    key[15] = (uint8_t)address->sa_family;
    if (address->sa_family == AF_INET) {
        memcpy(key, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
    } else if (address->sa_family == AF_INET6) {
        const struct in6_addr *v6 =
            &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;

        if (IN6_IS_ADDR_V4MAPPED(v6)) {
            memcpy(key, v6->s6_addr + 12, 4);
            key[15] = AF_INET;
        } else {
            memcpy(key, v6->s6_addr, 8);
        }
    } else {
        memcpy(key, &uid, sizeof(uid));
    }
}

void http_peer_text(const uint8_t key[HTTP_PEER_KEY], char *text, size_t size)
{
    char address[INET6_ADDRSTRLEN] = "";
    struct in6_addr v6 = {0};
    uid_t uid;

    if (key[15] == AF_INET) {
        (void)snprintf(text, size, "%s", inet_ntop(AF_INET, key, address, sizeof(address)));
    } else if (key[15] == AF_INET6) {
        memcpy(v6.s6_addr, key, 8);
        (void)snprintf(text, size, "%s/64", inet_ntop(AF_INET6, &v6, address, sizeof(address)));
    } else {
        memcpy(&uid, key, sizeof(uid));
        (void)snprintf(text, size, "user %u", (unsigned)uid);
    }
}

/* A client that makes them collide only makes the list of its own connections longer, by thousands
 * at most. */
static size_t bucket_of(const uint8_t key[HTTP_PEER_KEY])
{
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < HTTP_PEER_KEY; i++)
        hash = (hash ^ key[i]) * 16777619u;
    return (hash ^ hash >> 16) % HTTP_PEER_BUCKETS;
}

struct http_peer *http_peer_join(struct http_peers *peers, const uint8_t key[HTTP_PEER_KEY])
{
    struct http_peer_bucket *bucket = &peers->buckets[bucket_of(key)];
    struct http_peer *peer;

    LIST_FOREACH(peer, bucket, link)
        if (memcmp(peer->key, key, HTTP_PEER_KEY) == 0)
            break;
    if (!peer) {
        peer = calloc(1, sizeof(*peer));
        if (!peer)
            return NULL;
        memcpy(peer->key, key, HTTP_PEER_KEY);
        LIST_INSERT_HEAD(bucket, peer, link);
    }
    peer->count++;
    return peer;
}

void http_peer_leave(struct http_peer *peer)
{
    if (!peer || --peer->count > 0)
        return;
    LIST_REMOVE(peer, link);
    loop_work_cancel(&peer->line.turn);
    free(peer);
}
