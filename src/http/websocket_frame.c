#include "http/websocket_frame.h"

#include <endian.h>
#include <string.h>

static bool is_known(unsigned opcode)
{
    return opcode <= WEBSOCKET_BINARY || (opcode >= WEBSOCKET_CLOSE && opcode <= WEBSOCKET_PONG);
}

int websocket_order_next(struct websocket_order *order, unsigned flags, uint64_t len)
{
    unsigned opcode = flags & ~(unsigned)WEBSOCKET_LAST;

    if (!is_known(opcode))
        return WEBSOCKET_PROTOCOL;
    if (websocket_is_control(opcode))
        return (flags & WEBSOCKET_LAST) && len <= WEBSOCKET_CONTROL_MAX ? 0 : WEBSOCKET_PROTOCOL;
    if ((opcode == WEBSOCKET_MORE) != order->is_within)
        return WEBSOCKET_PROTOCOL;
    if (opcode != WEBSOCKET_MORE)
        order->length = 0;
    if (len > order->max - order->length)
        return WEBSOCKET_TOO_BIG;
    order->length += len;
    order->is_within = !(flags & WEBSOCKET_LAST);
    return 0;
}

/* Returns the length of the header, 0 where it is not all there, -1 where it breaks the rules. */
static int read_length(const uint8_t *data, size_t len, uint64_t *ret_length)
{
    unsigned form = data[1] & 0x7f;
    uint16_t medium;
    uint64_t large;

    *ret_length = form;
    if (form < 126)
        return 2;
    if (form == 126) {
        if (len < 4)
            return 0;
        memcpy(&medium, data + 2, sizeof(medium));
        *ret_length = be16toh(medium);
        return *ret_length >= 126 ? 4 : -1;
    }
    if (len < 10)
        return 0;
    memcpy(&large, data + 2, sizeof(large));
    *ret_length = be64toh(large);
    return *ret_length > UINT16_MAX && !(*ret_length >> 63) ? 10 : -1;
}

/* As read_length(); -1 with the reason for the end. */
static int read_header(struct websocket_reader *r, const uint8_t *data, size_t len, int *ret_code)
{
    uint64_t length;
    int n;

    *ret_code = WEBSOCKET_PROTOCOL;
    if (len < 2)
        return 0;
    if ((data[0] & 0x70) || !(data[1] & 0x80))
        return -1;
    n = read_length(data, len, &length);
    if (n < 0 || n == 0)
        return n;
    if (len < (size_t)n + 4)
        return 0;
    *ret_code = websocket_order_next(&r->order, data[0], length);
    if (*ret_code)
        return -1;
    memcpy(r->mask, data + n, 4);
    r->at = 0;
    r->opcode = data[0] & 0x0f;
    r->is_last = (data[0] & WEBSOCKET_LAST) != 0;
    r->left = length;
    r->is_within = true;
    return n + 4;
}

static void unmask(struct websocket_reader *r, uint8_t *data, size_t len)
{
    for (size_t i = 0; i < len; i++)
        data[i] ^= r->mask[(r->at + i) % 4];
    r->at = (unsigned)((r->at + len) % 4);
}

int websocket_read(struct websocket_reader *r, uint8_t *data, size_t len,
                   struct websocket_piece *ret_piece, size_t *ret_used, int *ret_code)
{
    size_t used = 0, n;
    int header;

    *ret_used = 0;
    if (!r->is_within) {
        header = read_header(r, data, len, ret_code);
        if (header <= 0)
            return header;
        used = *ret_used = (size_t)header;
    }
    n = len - used < r->left ? len - used : (size_t)r->left;
    if (n < r->left && (n == 0 || websocket_is_control(r->opcode)))
        return 0;
    unmask(r, data + used, n);
    r->left -= n;
    *ret_piece = (struct websocket_piece){
        r->opcode | (r->left == 0 && r->is_last ? WEBSOCKET_LAST : 0), data + used, n};
    *ret_used = used + n;
    r->is_within = r->left > 0;
    r->opcode = WEBSOCKET_MORE;
    return 1;
}

size_t websocket_header(uint8_t header[WEBSOCKET_HEADER_MAX], unsigned opcode, uint64_t len)
{
    const uint16_t medium = htobe16((uint16_t)len);
    const uint64_t large = htobe64(len);

    header[0] = (uint8_t)(opcode | WEBSOCKET_LAST);
    if (len < 126) {
        header[1] = (uint8_t)len;
        return 2;
    }
    if (len <= UINT16_MAX) {
        header[1] = 126;
        memcpy(header + 2, &medium, sizeof(medium));
        return 4;
    }
    header[1] = 127;
    memcpy(header + 2, &large, sizeof(large));
    return 10;
}
