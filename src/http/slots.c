/* Ids of connections, under which the listener speaks of them. */
#include <stdlib.h>

#include "http/internal.h"

int http_take_slot(struct http_server *server, struct http_connection *c)
{
    struct http_slot *slot;

    if (server->free_slot == server->n_slots) {
        uint32_t more = server->n_slots ? 2 * server->n_slots : 64;
        struct http_slot *grown = reallocarray(server->slots, more, sizeof(*grown));

        if (!grown)
            return -1;
        for (uint32_t i = server->n_slots; i < more; i++)
            grown[i] = (struct http_slot){.next_free = i + 1};
        server->slots = grown;
        server->n_slots = more;
    }
    slot = &server->slots[server->free_slot];
    c->id = (uint64_t)++slot->uses << 32 | server->free_slot;
    server->free_slot = slot->next_free;
    slot->connection = c;
    return 0;
}

void http_give_slot_back(struct http_server *server, const struct http_connection *c)
{
    uint32_t at = (uint32_t)c->id;

    server->slots[at].connection = NULL;
    if (server->slots[at].uses == UINT32_MAX)
        return; /* a number is never used twice */
    server->slots[at].next_free = server->free_slot;
    server->free_slot = at;
}

int http_find_connection(const struct http_server *server, const struct http_link *link,
                         uint64_t id, struct http_connection **ret_c)
{
    uint32_t at = (uint32_t)id, use = (uint32_t)(id >> 32);
    struct http_connection *c;

    *ret_c = NULL;
    if (at >= server->n_slots || use == 0 || use > server->slots[at].uses)
        return -1;
    c = server->slots[at].connection;
    if (!c || c->id != id)
        return 0;
    if (c->link != link || c->fd >= 0)
        return -1;
    *ret_c = c;
    return 0;
}
