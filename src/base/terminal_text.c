#include "base/terminal_text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/utf8.h"

void terminal_begin(struct terminal *terminal, bool has_color)
{
    *terminal = (struct terminal){.has_color = has_color};
}

static int add_visible(const char *data, size_t len, struct buf *out, struct error *err)
{
    for (size_t i = 0; i < len; i++) {
        int r;

        switch (data[i]) {
        case '\n':
            r = buf_add(out, "\\n", 2, err);
            break;
        case '\r':
            r = buf_add(out, "\\r", 2, err);
            break;
        case '\t':
            r = buf_add(out, "\\t", 2, err);
            break;
        default:
            r = buf_printf(out, err, "\\x%02x", (unsigned char)data[i]);
            break;
        }
        if (r < 0)
            return r;
    }
    return 0;
}

/* A colour: ESC [ digits and semicolons m. Its length, or UTF8_INVALID, or UTF8_PARTIAL when more
 * bytes decide. */
static int match_color(const char *data, size_t len)
{
    size_t i = 2;

    if (len > 1 && data[1] != '[')
        return UTF8_INVALID;
    while (i < len && i < TERMINAL_HELD_MAX &&
           ((data[i] >= '0' && data[i] <= '9') || data[i] == ';'))
        i++;
    if (i >= TERMINAL_HELD_MAX)
        return UTF8_INVALID;
    if (i >= len)
        return UTF8_PARTIAL;
    return data[i] == 'm' ? (int)(i + 1) : UTF8_INVALID;
}

/* Erases in the line: ESC [ K, with 0, 1 or 2. Returned as by match_color(). */
static int match_erase(const char *data, size_t len)
{
    size_t i = 2;

    if (len > 1 && data[1] != '[')
        return UTF8_INVALID;
    if (i < len && data[i] >= '0' && data[i] <= '2')
        i++;
    if (i >= len)
        return UTF8_PARTIAL;
    return data[i] == 'K' ? (int)(i + 1) : UTF8_INVALID;
}

/* Whether the colour sequence of `len` bytes hides text: the number 8, except in the colours
 * "38;5;N" and "38;2;R;G;B". */
static bool is_conceal(const char *data, size_t len)
{
    unsigned number = 0, skip = 0;
    bool is_extended = false;

    for (size_t i = 2; i < len; i++) {
        if (data[i] >= '0' && data[i] <= '9') {
            number = number < 1000 ? number * 10 + (unsigned)(data[i] - '0') : number;
            continue;
        }
        if (is_extended) {
            skip = number == 5 ? 1 : number == 2 ? 3 : 0;
            is_extended = false;
        } else if (skip) {
            skip--;
        } else if (number == 8) {
            return true;
        } else {
            is_extended = number == 38 || number == 48;
        }
        number = 0;
    }
    return false;
}

/* Passes the bytes by which a program draws its own line again. Returned as by match_color(); 0:
 * none of it. */
static int pass_live(struct terminal *terminal, const char *data, size_t len, bool is_end,
                     struct buf *out, struct error *err)
{
    int n;

    if (*data == '\r' && (len > 1 ? data[1] != '\n' : is_end))
        return buf_add(out, data, 1, err) < 0 ? -2 : 1;
    if (*data == '\b')
        return buf_add(out, data, 1, err) < 0 ? -2 : 1;
    if (*data != '\033')
        return 0;
    n = match_erase(data, len);
    if (n > 0)
        return buf_add(out, data, (size_t)n, err) < 0 ? -2 : n;
    if (n == UTF8_PARTIAL && !is_end)
        return n;
    n = match_color(data, len);
    if (n == UTF8_PARTIAL && !is_end)
        return n;
    return n > 0 && (!terminal->has_color || is_conceal(data, (size_t)n)) ? n : 0;
}

/* Takes the thing at the front of `data`. Returns its length, or UTF8_PARTIAL when more bytes
 * decide. */
static int pass(struct terminal *terminal, const char *data, size_t len, bool is_end,
                struct buf *out, struct error *err)
{
    uint32_t c = 0;
    int n;

    if (*data == '\n' || *data == '\t')
        return buf_add(out, data, 1, err) < 0 ? -2 : 1;
    n = terminal->is_live ? pass_live(terminal, data, len, is_end, out, err) : 0;
    if (n)
        return n;
    if (*data == '\r') {
        if (len == 1 && !is_end)
            return UTF8_PARTIAL;
        /* The newline of another system, not a way to write over the line. */
        if (len > 1 && data[1] == '\n' && !terminal->is_exact)
            return 1;
        return add_visible(data, 1, out, err) < 0 ? -2 : 1;
    }
    if (*data == '\\' && terminal->is_distinct) {
        if (len == 1 && !is_end)
            return UTF8_PARTIAL;
        n = len > 1 && strchr("rx\\", data[1]) && data[1] ? 2 : 1;
        return buf_add(out, "\\\\", (size_t)n, err) < 0 ? -2 : 1;
    }
    if (*data == '\033' && terminal->has_color) {
        n = match_color(data, len);
        if (n == UTF8_PARTIAL && !is_end)
            return n;
        if (n > 0) {
            terminal->is_colored = !(n == 3 || (n == 4 && data[2] == '0'));
            return buf_add(out, data, (size_t)n, err) < 0 ? -2 : n;
        }
    }
    n = utf8_decode(data, len, &c);
    if (n == UTF8_PARTIAL && !is_end)
        return n;
    if (n > 0 && (terminal->is_exact ? utf8_is_visible(c) : utf8_is_harmless(c)))
        return buf_add(out, data, (size_t)n, err) < 0 ? -2 : n;
    n = n > 0 ? n : 1;
    return add_visible(data, (size_t)n, out, err) < 0 ? -2 : n;
}

/* Consumes as much as can be decided; returns how much, or -1. */
static ssize_t pass_all(struct terminal *terminal, const char *data, size_t len, bool is_end,
                        struct buf *out, struct error *err)
{
    size_t at = 0;

    while (at < len) {
        int n = pass(terminal, data + at, len - at, is_end, out, err);

        if (n == UTF8_PARTIAL)
            break;
        if (n < 0)
            return -1;
        at += (size_t)n;
    }
    return (ssize_t)at;
}

int terminal_feed(struct terminal *terminal, const char *data, size_t len, struct buf *out,
                  struct error *err)
{
    ssize_t used;

    /* Held bytes get one more at a time until they are decided; there are few, and seldom. */
    while (terminal->n_held && len) {
        terminal->held[terminal->n_held++] = *data++;
        len--;
        used = pass_all(terminal, terminal->held, terminal->n_held, false, out, err);
        if (used < 0)
            return -1;
        terminal->n_held -= (size_t)used;
        memmove(terminal->held, terminal->held + used, terminal->n_held);
    }
    used = pass_all(terminal, data, len, false, out, err);
    if (used < 0)
        return -1;
    if ((size_t)used < len) {
        terminal->n_held = len - (size_t)used;
        memcpy(terminal->held, data + used, terminal->n_held);
    }
    return 0;
}

int terminal_finish(struct terminal *terminal, struct buf *out, struct error *err)
{
    ssize_t used = pass_all(terminal, terminal->held, terminal->n_held, true, out, err);

    terminal->n_held = 0;
    if (used < 0)
        return -1;
    if (!terminal->is_colored)
        return 0;
    terminal->is_colored = false;
    return buf_add_str(out, "\033[0m", err);
}

static int add_text_line(const char *text, size_t len, bool is_exact, struct buf *out,
                         struct error *err)
{
    struct terminal terminal = {.is_exact = is_exact};

    while (len) {
        size_t plain = 0;

        while (plain < len && text[plain] != '\n' && text[plain] != '\t' && text[plain] != '\r')
            plain++;
        if (terminal_feed(&terminal, text, plain, out, err) < 0 ||
            terminal_finish(&terminal, out, err) < 0)
            return -1;
        if (plain < len && add_visible(text + plain++, 1, out, err) < 0)
            return -1;
        text += plain;
        len -= plain;
    }
    return 0;
}

int terminal_line(const char *text, size_t len, struct buf *out, struct error *err)
{
    return add_text_line(text, len, false, out, err);
}

int terminal_exact_line(const char *text, size_t len, struct buf *out, struct error *err)
{
    return add_text_line(text, len, true, out, err);
}

int terminal_exact(const char *text, size_t len, struct buf *out, struct error *err)
{
    struct terminal terminal = {.is_exact = true};

    if (terminal_feed(&terminal, text, len, out, err) < 0)
        return -1;
    return terminal_finish(&terminal, out, err);
}

int terminal_distinct(const char *text, size_t len, struct buf *out, struct error *err)
{
    struct terminal terminal = {.is_exact = true, .is_distinct = true};

    if (terminal_feed(&terminal, text, len, out, err) < 0)
        return -1;
    return terminal_finish(&terminal, out, err);
}

bool terminal_has_color(int fd, const char *when)
{
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");

    if (strcmp(when, "auto") != 0)
        return strcmp(when, "always") == 0;
    return !(no_color && *no_color) && term && strcmp(term, "dumb") != 0 && isatty(fd) == 1;
}
