/* Any bytes to a terminal: what comes out has no control character but newline, tab and whole
 * colour sequences, is UTF-8, and does not depend on how the bytes were cut. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/terminal_text.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void render(const char *data, size_t len, size_t piece, bool is_live, struct buf *out)
{
    struct terminal terminal;

    buf_init(out, 16 * MIB);
    terminal_begin(&terminal, true);
    terminal.is_live = is_live;
    for (size_t at = 0; at < len; at += piece)
        if (terminal_feed(&terminal, data + at, len - at < piece ? len - at : piece, out, NULL) < 0)
            abort();
    if (terminal_finish(&terminal, out, NULL) < 0)
        abort();
}

/* Length of the colour sequence at the front; where the line may be drawn again, of what does that.
 */
static size_t color_length(const char *text, bool is_live)
{
    size_t digits;

    if (is_live && (text[0] == '\r' || text[0] == '\b'))
        return 1;
    if (is_live && text[0] == '\033' && text[1] == '[' && text[2 + strspn(text + 2, "012")] == 'K')
        return 3 + strspn(text + 2, "012");

    if (text[0] != '\033' || text[1] != '[')
        abort();
    digits = strspn(text + 2, "0123456789;");
    if (text[2 + digits] != 'm')
        abort();
    return digits + 3;
}

static void check(const uint8_t *data, size_t len, bool is_live)
{
    struct buf whole, cut;
    size_t at = 0;

    render((const char *)data, len, len + 1, is_live, &whole);
    render((const char *)data, len, len ? 1 + data[0] % 7 : 1, is_live, &cut);
    if (whole.len != cut.len || memcmp(buf_str(&whole), buf_str(&cut), whole.len) != 0)
        abort();
    while (at < whole.len) {
        uint32_t c = 0;
        int n = utf8_decode(whole.data + at, whole.len - at, &c);

        if (n <= 0)
            abort();
        if (c == '\n' || c == '\t')
            at++;
        else if (c < 0x20)
            at += color_length(whole.data + at, is_live);
        else if (c == 0x7f || (c >= 0x80 && c < 0xa0))
            abort();
        else
            at += (size_t)n;
    }
    buf_done(&whole);
    buf_done(&cut);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    check(data, len, false);
    check(data, len, true);
    return 0;
}
