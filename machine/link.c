#include "machine/link.h"

#include <endian.h>
#include <string.h>

struct header {
    uint32_t mark;
    uint8_t type, zero;
    uint16_t len;
    uint64_t epoch, connection;
};
_Static_assert(sizeof(struct header) == LINK_HEADER, "the header has no padding");
_Static_assert(LINK_DATA_MAX <= UINT16_MAX, "a length fits");

/* What each side sends. */
static const struct {
    uint8_t from;
    bool has_connection;
    uint16_t least, most; /* of the payload */
} rules[] = {
    [LINK_HELLO] = {LINK_HOST | LINK_MACHINE, false, 0, 0},
    [LINK_OPEN] = {LINK_HOST, true, 0, 0},
    [LINK_DATA] = {LINK_HOST | LINK_MACHINE, true, 1, LINK_DATA_MAX},
    [LINK_CREDIT] = {LINK_HOST | LINK_MACHINE, true, 4, 4},
    [LINK_CLOSE] = {LINK_HOST | LINK_MACHINE, true, 0, 0},
};

void link_reader_init(struct link_reader *reader, enum link_side from, uint64_t epoch)
{
    reader->from = from;
    reader->epoch = epoch;
    reader->is_lost = true;
    reader->len = 0;
}

/* False: no frame of that side begins like this. */
static bool read_header(const struct link_reader *reader, struct header *ret_header)
{
    struct header h;

    memcpy(&h, reader->bytes, sizeof(h));
    h.mark = le32toh(h.mark);
    h.len = le16toh(h.len);
    h.epoch = le64toh(h.epoch);
    h.connection = le64toh(h.connection);
    *ret_header = h;
    return h.mark == LINK_MARK && !h.zero && h.type > 0 &&
           h.type < sizeof(rules) / sizeof(*rules) && (rules[h.type].from & reader->from) &&
           h.len >= rules[h.type].least && h.len <= rules[h.type].most &&
           rules[h.type].has_connection == (h.connection != 0);
}

/* Whether an epoch begins with it. */
static bool begins_epoch(const struct link_reader *reader, const struct header *h)
{
    if (h->type != LINK_HELLO)
        return false;
    return reader->from == LINK_HOST ? h->epoch > reader->epoch : h->epoch == reader->epoch;
}

/* Until `wanted` bytes are there. */
static bool fill(struct link_reader *reader, size_t wanted, const char **data, size_t *len)
{
    size_t n = wanted - reader->len;

    n = n < *len ? n : *len;
    if (n)
        memcpy(reader->bytes + reader->len, *data, n);
    reader->len += n;
    *data += n;
    *len -= n;
    return reader->len == wanted;
}

/* What has been read is no frame: its bytes behind the first may begin one. */
static void skip_byte(struct link_reader *reader)
{
    const uint32_t mark = htole32(LINK_MARK);
    char first;
    const char *next;

    memcpy(&first, &mark, 1);
    next = memchr(reader->bytes + 1, first, reader->len - 1);
    reader->len = next ? reader->len - (size_t)(next - reader->bytes) : 0;
    if (next)
        memmove(reader->bytes, next, reader->len);
}

static int lose(struct link_reader *reader)
{
    reader->is_lost = true;
    reader->len = 0;
    return -1;
}

/* True: the HELLO of an epoch has come. */
static bool seek(struct link_reader *reader, const char **data, size_t *len)
{
    const uint32_t tail = htole32(LINK_TAIL);
    struct header h;

    for (;;) {
        if (reader->len < LINK_HEADER + LINK_TAIL_SIZE &&
            !fill(reader, LINK_HEADER + LINK_TAIL_SIZE, data, len))
            return false;
        if (read_header(reader, &h) && begins_epoch(reader, &h) &&
            memcmp(reader->bytes + LINK_HEADER, &tail, sizeof(tail)) == 0)
            return true;
        skip_byte(reader);
    }
}

static void take(struct link_reader *reader, const struct header *h, struct link_frame *ret_frame)
{
    uint32_t credit = 0;

    if (h->type == LINK_CREDIT)
        memcpy(&credit, reader->bytes + LINK_HEADER, sizeof(credit));
    *ret_frame = (struct link_frame){
        .type = h->type,
        .epoch = h->epoch,
        .connection = h->connection,
        .payload = {reader->bytes + LINK_HEADER, h->len},
        .credit = le32toh(credit),
    };
    reader->len = 0;
}

int link_read(struct link_reader *reader, const char **data, size_t *len,
              struct link_frame *ret_frame)
{
    const uint32_t tail = htole32(LINK_TAIL);
    struct header h;

    for (;;) {
        if (reader->is_lost) {
            if (!seek(reader, data, len))
                return 0;
            reader->is_lost = false;
        }
        if (reader->len < LINK_HEADER && !fill(reader, LINK_HEADER, data, len))
            return 0;
        if (!read_header(reader, &h))
            return lose(reader);
        if (!fill(reader, LINK_HEADER + h.len + LINK_TAIL_SIZE, data, len))
            return 0;
        if (memcmp(reader->bytes + LINK_HEADER + h.len, &tail, sizeof(tail)) != 0)
            return lose(reader);
        if (begins_epoch(reader, &h))
            reader->epoch = h.epoch;
        else if (h.epoch != reader->epoch || h.type == LINK_HELLO) {
            reader->len = 0; /* of a former epoch */
            continue;
        }
        take(reader, &h, ret_frame);
        return 1;
    }
}

size_t link_write(const struct link_frame *frame, char bytes[LINK_FRAME_MAX])
{
    const uint32_t tail = htole32(LINK_TAIL), credit = htole32(frame->credit);
    const void *payload = frame->type == LINK_CREDIT ? (const void *)&credit : frame->payload.data;
    size_t len = frame->type == LINK_CREDIT ? sizeof(credit) : frame->payload.len;
    const struct header h = {
        .mark = htole32(LINK_MARK),
        .type = (uint8_t)frame->type,
        .len = htole16((uint16_t)len),
        .epoch = htole64(frame->epoch),
        .connection = htole64(frame->connection),
    };

    memcpy(bytes, &h, sizeof(h));
    if (len)
        memcpy(bytes + LINK_HEADER, payload, len);
    memcpy(bytes + LINK_HEADER + len, &tail, sizeof(tail));
    return LINK_HEADER + len + LINK_TAIL_SIZE;
}
