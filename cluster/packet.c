#include <stdlib.h>
#include <string.h>

#include "cluster/bus.h"

struct packet *packet_new(size_t len)
{
    struct packet *packet = malloc(sizeof(*packet) + len);

    if (packet) {
        *packet = (struct packet){.len = len};
        atomic_init(&packet->refs, 1);
    }
    return packet;
}

struct packet *packet_copy(const void *data, size_t len)
{
    struct packet *packet = packet_new(len);

    if (packet && len)
        memcpy(packet->data, data, len);
    return packet;
}

void packet_unref(struct packet *packet)
{
    if (packet && atomic_fetch_sub(&packet->refs, 1) == 1)
        free(packet);
}
