/* Any bytes as the answer of a server in a session: what becomes of its head are whole lines, each
 * of them ours or permitted, and none that a browser or a proxy would take as an order about our
 * origin. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/port_head.h"
#include "base/limits.h"
#include "base/span.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const char *const forbidden[] = {
    "set-cookie", "access-control-", "clear-site-data",  "transfer-encoding", "content-length",
    "connection", "x-accel-",        "strict-transport", "alt-svc",           "link",
    "refresh",    "content-range"};

/* `is_named`: by the name of a host, where nothing stands before the path. */
static void check_line(struct span line, bool is_named)
{
    const char *location = is_named ? "Location: /" : "Location: /v1/sessions/s/ports/8000/";
    const char *colon = memchr(line.data, ':', line.len);

    if (!colon || memchr(line.data, '\n', line.len) || memchr(line.data, 0, line.len))
        abort();
    for (size_t i = 0; i < sizeof(forbidden) / sizeof(forbidden[0]); i++)
        if (line.len >= strlen(forbidden[i]) &&
            strncasecmp(line.data, forbidden[i], strlen(forbidden[i])) == 0)
            abort();
    if (span_starts_with(line, "Location") &&
        (!span_starts_with(line, location) ||
         (is_named && span_starts_with(line, "Location: //")) ||
         memmem(line.data, span_until(line, "?#"), "/../", 4) || memchr(line.data, '\\', line.len)))
        abort();
}

static void check(const struct buf *text, bool is_named)
{
    const char *at = buf_str(text), *end = at + text->len;

    while (at < end) {
        const char *stop = memmem(at, (size_t)(end - at), "\r\n", 2);

        if (!stop || stop == at)
            abort();
        check_line((struct span){at, (size_t)(stop - at)}, is_named);
        at = stop + 2;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const struct http_limits limits = {16 * KIB, 100, "long", "many"};
    static const char path[] = "/v1/sessions/s/ports/8000/x";
    bool is_named = len / 2 % 2;
    const struct port_head head = {
        .port = 8000, .path = {path + 25, 2}, .prefix = {path, is_named ? 0 : sizeof(path) - 3}};
    struct http_head answer;
    struct http_refusal why;
    struct buf text = BUF_OF(8 * KIB);
    struct error err = {0};
    size_t scanned = 0;

    if (http_read_response((const char *)data, len, &limits, &scanned, &answer, &why) <= 0)
        return 0;
    (void)port_head_is_text(&answer);
    if (port_head_answer(&answer, &head, len % 2, &text, &err) == 0)
        check(&text, is_named);
    else if (err.code != E_TOO_LARGE)
        abort();
    error_done(&err);
    buf_done(&text);
    return 0;
}
