/* Bytes of a stream in pieces of any size: the frames must be the same however it is cut, and every
 * reader of a body must refuse it or give a message that spells these very bytes again.
 *
 * The first byte says how large the pieces are, the rest is the stream.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/frame.h"
#include "wire/message.h"
#include "wire/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define FRAMES_MAX 64

static void same(const struct frame *f, struct pack *p)
{
    if (p->failed || p->len != f->len || memcmp(p->data, f->body, f->len) != 0)
        abort();
}

/* A message that a reader accepts must be packed back into the same bytes. */
#define TRY(kind, exact)                                                                           \
    do {                                                                                           \
        static struct wire_##kind m_;                                                              \
        struct unpack u_;                                                                          \
        struct pack p_;                                                                            \
                                                                                                   \
        unpack_init(&u_, f->body, f->len);                                                         \
        pack_init(&p_, f->len + 1);                                                                \
        if (wire_unpack_##kind(&u_, &m_) && unpack_ok(&u_)) {                                      \
            wire_pack_##kind(&p_, &m_);                                                            \
            if (exact)                                                                             \
                same(f, &p_);                                                                      \
            else if (p_.failed || p_.len != f->len)                                                \
                abort();                                                                           \
        }                                                                                          \
        pack_done(&p_);                                                                            \
    } while (0)

static void try_policy(struct span encoded)
{
    struct wire_policy policy = {0};
    struct pack p;

    if (wire_policy_decode(encoded, &policy) < 0)
        return;
    pack_init(&p, POLICY_BYTES_MAX);
    wire_policy_encode(&policy, &p);
    if (p.failed || p.len != encoded.len || memcmp(p.data, encoded.data, p.len) != 0)
        abort();
    pack_done(&p);
    wire_policy_done(&policy);
}

static void try_body(const struct frame *f)
{
    TRY(setup, false); /* its flag is read as yes or no */
    TRY(ready, true);
    TRY(spawn, true);
    TRY(failure, true);
    TRY(exited, true);
    TRY(run, true);
    TRY(violation, true);
    TRY(exception, true);
    TRY(display, true);
    TRY(progress, true);
    TRY(call, true);
    TRY(reply, true);
    try_policy((struct span){(const char *)f->body, f->len});
}

/* Returns how many frames came, and how the stream ended in *ret_broken. Their types go to `types`.
 */
static size_t decode(const uint8_t *data, size_t len, size_t piece, uint8_t *types,
                     bool *ret_broken)
{
    struct frame_decoder d;
    size_t frames = 0, at = 0;

    *ret_broken = false;
    frame_decoder_init(&d);
    while (at < len && !*ret_broken && frames < FRAMES_MAX) {
        size_t n = len - at < piece ? len - at : piece;
        struct frame f;
        size_t used;
        int r = frame_feed(&d, data + at, n, &used, &f);

        if (used > n || (r == 0 && used != n))
            abort();
        at += used;
        *ret_broken = r < 0;
        if (r == 1) {
            if (f.len > wire_type_max(f.type))
                abort();
            types[frames++] = (uint8_t)f.type;
            try_body(&f);
        }
    }
    frame_decoder_done(&d);
    return frames;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    uint8_t whole[FRAMES_MAX], cut[FRAMES_MAX];
    bool whole_broken, cut_broken;
    size_t n;

    if (len < 1)
        return 0;
    n = decode(data + 1, len - 1, len, whole, &whole_broken);
    if (decode(data + 1, len - 1, (size_t)data[0] + 1, cut, &cut_broken) != n ||
        memcmp(whole, cut, n) != 0 || whole_broken != cut_broken)
        abort();
    /* The bytes as a body, without a frame around them: the fuzzer finds the readers faster. */
    try_body(&(struct frame){.body = data + 1, .len = len - 1});
    return 0;
}
