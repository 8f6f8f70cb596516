#include "compat/e2b_connect.h"

int e2b_envelope_read(struct span body, struct span *ret_message, struct error *err)
{
    const unsigned char *head = (const unsigned char *)body.data;
    uint32_t len;

    if (body.len < E2B_ENVELOPE_HEAD)
        return error_set(err, E_INVALID, "the envelope of the message is incomplete");
    if (head[0] & E2B_ENVELOPE_COMPRESSED)
        return error_set(err, E_INVALID, "compressed messages are not supported");
    if (head[0])
        return error_set(err, E_INVALID, "the envelope has unknown flags");
    len = (uint32_t)head[1] << 24 | (uint32_t)head[2] << 16 | (uint32_t)head[3] << 8 | head[4];
    if (len != body.len - E2B_ENVELOPE_HEAD)
        return error_set(err, E_INVALID, "the envelope says %u bytes, the body has %zu", len,
                         body.len - E2B_ENVELOPE_HEAD);
    *ret_message = (struct span){body.data + E2B_ENVELOPE_HEAD, len};
    return 0;
}

int e2b_envelope_add(struct buf *out, uint8_t flags, const char *message, size_t len,
                     struct error *err)
{
    const unsigned char head[E2B_ENVELOPE_HEAD] = {flags, (unsigned char)(len >> 24),
                                                   (unsigned char)(len >> 16),
                                                   (unsigned char)(len >> 8), (unsigned char)len};

    if (len > UINT32_MAX)
        return error_set(err, E_TOO_LARGE, "the message is too long for an envelope");
    if (buf_reserve(out, sizeof(head) + len, err) < 0 || buf_add(out, head, sizeof(head), err) < 0)
        return -1;
    return buf_add(out, message, len, err);
}
