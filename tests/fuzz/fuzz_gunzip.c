/* Any bytes as a body in the format of gzip, in pieces of any length: how it is cut changes nothing
 * of what comes out, and each piece gives a bounded amount. The first byte says how it is cut. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/gunzip.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/limits.h"

#define OUT_MAX MIB

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int keep(void *user, const void *data, size_t len, struct error *err)
{
    return buf_add(user, data, len, err);
}

/* Adds the bytes to `out`, and says how it ended. */
static enum error_code unpack(const uint8_t *data, size_t len, size_t piece, struct buf *out)
{
    struct error err = {0};
    enum error_code code;
    struct gunzip g;

    if (gunzip_init(&g, &err) < 0)
        abort();
    while (len && err.code == E_NONE) {
        size_t n = len < piece ? len : piece, before = out->len;

        (void)gunzip_feed(&g, data, n, keep, out, &err);
        if (out->len - before > 9 * MIB + 16 * n)
            abort();
        data += n;
        len -= n;
    }
    if (err.code == E_NONE)
        (void)gunzip_end(&g, &err);
    gunzip_done(&g);
    code = err.code;
    error_done(&err);
    return code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    cleanup(buf_done) struct buf whole = BUF_OF(OUT_MAX), cut = BUF_OF(OUT_MAX);
    enum error_code first, second;

    if (!len)
        return 0;
    first = unpack(data + 1, len - 1, SIZE_MAX, &whole);
    second = unpack(data + 1, len - 1, (size_t)*data + 1, &cut);
    if (first == E_TOO_LARGE || second == E_TOO_LARGE)
        return 0; /* a piece alone may be packed less tightly than all */
    if (first != second ||
        (first == E_NONE &&
         (whole.len != cut.len || memcmp(buf_str(&whole), buf_str(&cut), cut.len) != 0)))
        abort();
    return 0;
}
