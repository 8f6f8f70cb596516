#include "cluster/frame.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/id.h"

#define VERSION 1

struct header {
    uint8_t version, type, flags, zero;
    uint32_t len;
    uint64_t instance, exchange, number;
};
_Static_assert(sizeof(struct header) == FRAME_HEADER, "the header has no padding");

/* What each side sends, and how long its payload is. */
static const struct {
    uint8_t from;
    bool is_numbered;
    size_t least, most;
} rules[] = {
    [FRAME_OPEN] = {FRAME_GATEWAY, true, 4, CLUSTER_PAYLOAD_MAX},
    [FRAME_GO] = {FRAME_GATEWAY, true, 0, 0},
    [FRAME_HEAD] = {FRAME_NODE, true, 1, CLUSTER_PAYLOAD_MAX},
    [FRAME_DATA] = {FRAME_GATEWAY | FRAME_NODE, true, 0, CLUSTER_PAYLOAD_MAX},
    [FRAME_VERDICT] = {FRAME_NODE, false, 4, 4},
    [FRAME_ACK] = {FRAME_GATEWAY | FRAME_NODE, false, 0, 0},
    [FRAME_AGAIN] = {FRAME_GATEWAY | FRAME_NODE, false, 0, 0},
    [FRAME_STATE] = {FRAME_GATEWAY | FRAME_NODE, false, 0, 0},
    [FRAME_RESET] = {FRAME_GATEWAY | FRAME_NODE, false, 4, 4},
};

ssize_t frame_read(const char *data, size_t len, enum frame_side from, struct frame *ret_frame)
{
    struct header header;

    if (len < sizeof(header))
        return -1;
    memcpy(&header, data, sizeof(header));
    if (header.version != VERSION || header.type == 0 || header.type >= ARRAY_SIZE(rules) ||
        header.zero || (header.flags & ~FRAME_END) || le32toh(header.len) > len - sizeof(header))
        return -1;
    len = le32toh(header.len);
    if (!(rules[header.type].from & from) || len < rules[header.type].least ||
        len > rules[header.type].most || (header.flags && !rules[header.type].is_numbered))
        return -1;
    *ret_frame = (struct frame){
        .type = header.type,
        .flags = header.flags,
        .instance = le64toh(header.instance),
        .exchange = le64toh(header.exchange),
        .number = le64toh(header.number),
        .payload = {data + sizeof(header), len},
    };
    return (ssize_t)(sizeof(header) + len);
}

void frame_write_header(uint8_t bytes[FRAME_HEADER], const struct frame *frame)
{
    const struct header header = {
        .version = VERSION,
        .type = frame->type,
        .flags = frame->flags,
        .len = htole32((uint32_t)frame->payload.len),
        .instance = htole64(frame->instance),
        .exchange = htole64(frame->exchange),
        .number = htole64(frame->number),
    };

    memcpy(bytes, &header, sizeof(header));
}

bool frame_is_numbered(const struct frame *frame)
{
    return rules[frame->type].is_numbered;
}

uint32_t frame_word(const struct frame *frame)
{
    uint32_t word = 0;

    if (frame->payload.len == sizeof(word))
        memcpy(&word, frame->payload.data, sizeof(word));
    return le32toh(word);
}

bool frame_read_open(const struct frame *frame, uint32_t *ret_flags, struct span *ret_head)
{
    uint32_t flags;

    if (frame->payload.len < sizeof(flags))
        return false;
    memcpy(&flags, frame->payload.data, sizeof(flags));
    *ret_flags = le32toh(flags);
    *ret_head =
        (struct span){frame->payload.data + sizeof(flags), frame->payload.len - sizeof(flags)};
    return true;
}

/* --- subjects --- */

/* Takes a name and the dot or the end behind it. */
static bool take_name(const char **at, char name[13])
{
    size_t len = strcspn(*at, ".");

    if (len == 0 || len > ID_NODE_MAX)
        return false;
    memcpy(name, *at, len);
    name[len] = '\0';
    *at += len;
    return id_is_node(name);
}

bool subject_read(const char *subject, const char *kind, struct subject_names *ret_names)
{
    char start[48];
    size_t len = (size_t)snprintf(start, sizeof(start), CLUSTER_SUBJECTS ".%s.", kind);

    *ret_names = (struct subject_names){0};
    if (len >= sizeof(start) || strncmp(subject, start, len) != 0)
        return false;
    subject += len;
    if (!take_name(&subject, ret_names->name))
        return false;
    if (!*subject)
        return true;
    subject++;
    return take_name(&subject, ret_names->sender) && !*subject;
}

bool subject_read_reply(const char *subject, uint64_t *ret_exchange)
{
    const char *dot = strrchr(subject, '.');
    uint64_t value = 0;

    if (!dot || !dot[1] || strlen(dot + 1) > 19)
        return false;
    for (const char *at = dot + 1; *at; at++) {
        if (*at < '0' || *at > '9')
            return false;
        value = value * 10 + (uint64_t)(*at - '0');
    }
    *ret_exchange = value;
    return true;
}
