/* Any bytes as the answer of an HTTP server: what is read does not depend on how they were cut. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "upstream/http_reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct seen {
    size_t n, bytes;
    uint64_t sum;
};

static void on_text(void *user, const char *text, size_t len)
{
    struct seen *seen = user;

    if (!len || len > LIMIT_UPSTREAM_MESSAGE)
        abort();
    seen->n++;
    seen->bytes += len;
    for (size_t i = 0; i < len; i++)
        seen->sum = seen->sum * 31 + (unsigned char)text[i];
}

static int read_in_pieces(const char *data, size_t len, size_t piece, struct seen *seen,
                          int *ret_status)
{
    cleanup_error struct error err = {0};
    struct http_reply reply;
    int r = 0;

    http_reply_init(&reply, on_text, seen);
    for (size_t at = 0; r == 0 && at < len; at += piece)
        r = http_reply_feed(&reply, data + at, len - at < piece ? len - at : piece, &err);
    if (r == 0)
        r = http_reply_end(&reply, &err);
    if ((r < 0) != (err.code != E_NONE) || strlen(reply.session) >= sizeof(reply.session))
        abort();
    *ret_status = reply.status;
    http_reply_done(&reply);
    return r < 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct seen whole = {0}, cut = {0};
    int status, cut_status;
    int r = read_in_pieces((const char *)data, len, len + 1, &whole, &status);

    if (read_in_pieces((const char *)data, len, 1, &cut, &cut_status) != r ||
        status != cut_status || memcmp(&whole, &cut, sizeof(cut)) != 0)
        abort();
    return 0;
}
