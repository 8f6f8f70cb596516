#include "api/gunzip.h"

#include "base/limits.h"

#define PIECE (64 * KIB)

/* That a short piece of a body may unpack to: everybody waits meanwhile. */
#define UNPACKED_AT_ONCE (8 * MIB)

/* For inflateInit2(): the format of gzip, and nothing else. */
#define GZIP_BITS (16 + MAX_WBITS)

int gunzip_init(struct gunzip *g, struct error *err)
{
    *g = (struct gunzip){0};
    return inflateInit2(&g->zip, GZIP_BITS) == Z_OK ? 0 : error_memory(err);
}

void gunzip_done(struct gunzip *g)
{
    (void)inflateEnd(&g->zip);
}

/* A file may have several members, one after the other (RFC 1952, 2.2). */
int gunzip_feed(struct gunzip *g, const void *data, size_t len, gunzip_sink_fn sink, void *user,
                struct error *err)
{
    unsigned char out[PIECE];
    size_t room = UNPACKED_AT_ONCE + 16 * len, n;
    int r;

    g->zip.next_in = (Bytef *)data;
    g->zip.avail_in = (uInt)len;
    if (!len)
        return 0;
    do {
        if (g->is_at_end && g->zip.avail_in) {
            (void)inflateReset(&g->zip);
            g->is_at_end = false;
        }
        g->zip.next_out = out;
        g->zip.avail_out = sizeof(out);
        r = inflate(&g->zip, Z_NO_FLUSH);
        if (r != Z_OK && r != Z_STREAM_END && r != Z_BUF_ERROR)
            return error_set(err, E_INVALID, "the body is not in the format of gzip");
        n = sizeof(out) - g->zip.avail_out;
        if (n && sink(user, out, n, err) < 0)
            return -1;
        g->is_at_end = r == Z_STREAM_END;
        if (n > room) {
            error_set(err, E_TOO_LARGE, "the body is packed too tightly to be unpacked here");
            return error_hint(err, "send the file without `Content-Encoding: gzip`");
        }
        room -= n;
    } while (g->zip.avail_in || !g->zip.avail_out);
    return 0;
}

int gunzip_end(const struct gunzip *g, struct error *err)
{
    return g->is_at_end ? 0 : error_set(err, E_INVALID, "the compressed body ends too soon");
}
