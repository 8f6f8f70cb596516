#include "http/listener_message.h"

#include <endian.h>
#include <string.h>

#include "base/cleanup.h"
#include "http/request_rules.h"

/* A head with its lengths in front of each field. */
#define HEAD_MAX (HTTP_HEAD_BYTES + 64 + (size_t)8 * HTTP_REQUEST_HEADERS)

enum { HAS_NO_CONNECTION, HAS_CONNECTION };

/* Messages: the sender, the state of the connection, and the length of each. */
static const struct permitted {
    enum listener_type type;
    enum listener_side from;
    int about;
    size_t least, most;
} permitted[] = {
    {LISTENER_SETUP, LISTENER_ENGINE, HAS_NO_CONNECTION, 24, 2 * LISTENER_PEM_BYTES + 64},
    {LISTENER_STOP, LISTENER_ENGINE, HAS_NO_CONNECTION, 0, 0},
    {LISTENER_DATA, LISTENER_ENGINE, HAS_CONNECTION, 1, LISTENER_PIECE},
    {LISTENER_END, LISTENER_ENGINE, HAS_CONNECTION, 4, 4},
    {LISTENER_CUT, LISTENER_ENGINE, HAS_CONNECTION, 0, 0},
    {LISTENER_TAKEN, LISTENER_ENGINE, HAS_CONNECTION, 4, 4},
    {LISTENER_OPEN, LISTENER_ENGINE, HAS_CONNECTION, 4, 4},
    {LISTENER_READY, LISTENER_ITSELF, HAS_NO_CONNECTION, 0, 0},
    {LISTENER_FAILED, LISTENER_ITSELF, HAS_NO_CONNECTION, 1, 4096},
    {LISTENER_HEAD, LISTENER_ITSELF, HAS_CONNECTION, 16, HEAD_MAX},
    {LISTENER_BODY, LISTENER_ITSELF, HAS_CONNECTION, 1, LISTENER_PIECE},
    {LISTENER_WHOLE, LISTENER_ITSELF, HAS_CONNECTION, 0, 0},
    {LISTENER_MISTAKE, LISTENER_ITSELF, HAS_CONNECTION, 8, 8 + LISTENER_WORDS_MAX},
    {LISTENER_WRITTEN, LISTENER_ITSELF, HAS_CONNECTION, 4, 4},
    {LISTENER_GONE, LISTENER_ITSELF, HAS_CONNECTION, 0, 0},
    {LISTENER_FRAME, LISTENER_ITSELF, HAS_CONNECTION, 1, LISTENER_PIECE},
    {LISTENER_BROKEN, LISTENER_ITSELF, HAS_CONNECTION, 4, 4},
};

struct header {
    uint32_t len;
    uint32_t type;
    uint64_t connection;
};

_Static_assert(sizeof(struct header) == LISTENER_HEADER_BYTES, "the header has no holes");

void listener_frame_header(uint8_t header[LISTENER_HEADER_BYTES], enum listener_type type,
                           uint64_t connection, size_t len)
{
    const struct header h = {htole32((uint32_t)len), htole32(type), htole64(connection)};

    memcpy(header, &h, sizeof(h));
}

static bool is_permitted(const struct header *h, enum listener_side from)
{
    for (size_t i = 0; i < ARRAY_SIZE(permitted); i++) {
        const struct permitted *row = &permitted[i];

        if (row->type == h->type && row->from == from)
            return h->len >= row->least && h->len <= row->most &&
                   (h->connection != 0) == (row->about == HAS_CONNECTION);
    }
    return false;
}

ssize_t listener_frame_parse(const void *data, size_t len, enum listener_side from,
                             struct listener_frame *ret_frame)
{
    struct header h;

    if (len < sizeof(h))
        return 0;
    memcpy(&h, data, sizeof(h));
    h = (struct header){le32toh(h.len), le32toh(h.type), le64toh(h.connection)};
    if (!is_permitted(&h, from))
        return -1;
    if (len - sizeof(h) < h.len)
        return 0;
    *ret_frame = (struct listener_frame){(enum listener_type)h.type, h.connection,
                                         (const char *)data + sizeof(h), h.len};
    return (ssize_t)(sizeof(h) + h.len);
}

/* --- bodies --- */

static void pack_span(struct pack *p, struct span s)
{
    pack_bytes(p, s.data, s.len);
}

void listener_setup_write(struct pack *p, const struct listener_setup *setup)
{
    pack_u64(p, setup->idle_ms);
    pack_u64(p, setup->connections);
    pack_span(p, setup->cert);
    pack_span(p, setup->key);
}

bool listener_setup_read(const struct listener_frame *frame, struct listener_setup *ret_setup)
{
    struct unpack u;

    unpack_init(&u, frame->data, frame->len);
    ret_setup->idle_ms = unpack_u64(&u);
    ret_setup->connections = unpack_u64(&u);
    ret_setup->cert = unpack_span(&u);
    ret_setup->key = unpack_span(&u);
    return unpack_ok(&u);
}

enum { IS_OLD = 1, IS_WAITING = 2 };

void listener_head_write(struct pack *p, const struct http_head *head, bool is_waiting)
{
    pack_u32(p, (head->is_old ? IS_OLD : 0) | (is_waiting ? IS_WAITING : 0));
    pack_span(p, head->method);
    pack_span(p, head->target);
    pack_u32(p, (uint32_t)head->n_headers);
    for (size_t i = 0; i < head->n_headers; i++) {
        pack_span(p, head->headers[i].name);
        pack_span(p, head->headers[i].value);
    }
}

bool listener_head_read(const struct listener_frame *frame, struct http_head *ret_head)
{
    struct http_refusal why;
    struct unpack u;
    uint32_t flags, count;

    *ret_head = (struct http_head){0};
    unpack_init(&u, frame->data, frame->len);
    flags = unpack_u32(&u);
    ret_head->method = unpack_span(&u);
    ret_head->target = unpack_span(&u);
    count = unpack_count(&u, 8, HTTP_REQUEST_HEADERS);
    for (uint32_t i = 0; i < count; i++) {
        ret_head->headers[i].name = unpack_span(&u);
        ret_head->headers[i].value = unpack_span(&u);
    }
    ret_head->n_headers = count;
    ret_head->is_old = flags & IS_OLD;
    if (!unpack_ok(&u) || (flags & ~(uint32_t)(IS_OLD | IS_WAITING)) ||
        http_request_check_again(ret_head, &why) < 0)
        return false;
    ret_head->expects_continue = ret_head->expects_continue && (flags & IS_WAITING);
    return true;
}

void listener_mistake_write(struct pack *p, const struct http_refusal *why)
{
    size_t len = strlen(why->message);

    pack_u32(p, (uint32_t)why->status);
    pack_span(p, (struct span){why->message, len < LISTENER_WORDS_MAX ? len : LISTENER_WORDS_MAX});
}

bool listener_mistake_read(const struct listener_frame *frame, struct listener_mistake *ret_mistake)
{
    static const int statuses[] = {400, 408, 417, 431, 500, 505};
    bool is_known = false;
    struct unpack u;
    struct span words;

    unpack_init(&u, frame->data, frame->len);
    ret_mistake->status = (int)unpack_u32(&u);
    words = unpack_span(&u);
    if (!unpack_ok(&u) || words.len > LISTENER_WORDS_MAX)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(statuses); i++)
        is_known = is_known || statuses[i] == ret_mistake->status;
    for (size_t i = 0; i < words.len; i++)
        if (words.data[i] < ' ' || words.data[i] > '~')
            return false;
    memcpy(ret_mistake->words, words.data, words.len);
    ret_mistake->words[words.len] = '\0';
    return is_known;
}

uint32_t listener_number(const struct listener_frame *frame)
{
    struct unpack u;

    unpack_init(&u, frame->data, frame->len);
    return unpack_u32(&u);
}
