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

/* One of the 256 colours, with xterm's values for the sixteen that themes change. */
static uint32_t palette_color(unsigned n)
{
    static const uint32_t basic[] = {0x000000, 0xcd0000, 0x00cd00, 0xcdcd00, 0x0000ee, 0xcd00cd,
                                     0x00cdcd, 0xe5e5e5, 0x7f7f7f, 0xff0000, 0x00ff00, 0xffff00,
                                     0x5c5cff, 0xff00ff, 0x00ffff, 0xffffff};
    static const uint32_t levels[] = {0, 95, 135, 175, 215, 255};

    if (n < ARRAY_SIZE(basic))
        return basic[n];
    if (n < 232)
        return levels[(n - 16) / 36] << 16 | levels[(n - 16) / 6 % 6] << 8 | levels[(n - 16) % 6];
    return (8 + (n - 232) % 24 * 10) * 0x010101;
}

/* The colour behind 38 or 48 at `at`: "5;N" or "2;R;G;B". Returns how many numbers it has; 0: it is
 * none. */
static size_t extended_color(const unsigned *numbers, size_t count, uint32_t *ret_color)
{
    if (count >= 2 && numbers[0] == 5) {
        *ret_color = 1 + palette_color(numbers[1] & 0xff);
        return 2;
    }
    if (count < 4 || numbers[0] != 2)
        return 0;
    *ret_color = 1 + ((numbers[1] & 0xff) << 16 | (numbers[2] & 0xff) << 8 | (numbers[3] & 0xff));
    return 4;
}

static size_t read_numbers(const char *data, size_t len, unsigned numbers[TERMINAL_HELD_MAX])
{
    size_t count = 0;
    unsigned number = 0;

    for (size_t i = 2; i < len && count < TERMINAL_HELD_MAX; i++) {
        if (data[i] >= '0' && data[i] <= '9') {
            number = number < 1000 ? number * 10 + (unsigned)(data[i] - '0') : number;
            continue;
        }
        numbers[count++] = number;
        number = 0;
    }
    return count;
}

/* The style after a colour sequence of `len` bytes. */
static struct terminal_style next_style(struct terminal_style style, const char *data, size_t len)
{
    unsigned numbers[TERMINAL_HELD_MAX];
    size_t count = read_numbers(data, len, numbers);

    for (size_t i = 0; i < count; i++) {
        unsigned n = numbers[i];
        bool is_back = (n >= 40 && n <= 49) || n >= 100;
        uint32_t *color = is_back ? &style.back : &style.fore;

        if (n == 0)
            style = (struct terminal_style){0};
        else if (n == 8 || n == 28)
            style.is_concealed = n == 8;
        else if (n == 38 || n == 48)
            i += extended_color(numbers + i + 1, count - i - 1, color);
        else if (n == 39 || n == 49)
            *color = 0;
        else if ((n >= 30 && n <= 37) || (n >= 40 && n <= 47))
            *color = 1 + palette_color(n % 10);
        else if ((n >= 90 && n <= 97) || (n >= 100 && n <= 107))
            *color = 1 + palette_color(8 + n % 10);
    }
    return style;
}

/* Of each of red, green and blue: text this near to its background is not seen. */
#define CONTRAST_MIN 24

/* Whether text in that style cannot be seen. The terminal's own colours are not known here. */
static bool hides_text(struct terminal_style style)
{
    if (style.is_concealed)
        return true;
    if (!style.fore || !style.back)
        return false;
    for (unsigned shift = 0; shift <= 16; shift += 8) {
        int difference =
            (int)((style.fore - 1) >> shift & 0xff) - (int)((style.back - 1) >> shift & 0xff);

        if (abs(difference) >= CONTRAST_MIN)
            return false;
    }
    return true;
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
    return n > 0 && (!terminal->has_color ||
                     hides_text(next_style(terminal->style, data, (size_t)n)))
               ? n
               : 0;
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
            terminal->style = next_style(terminal->style, data, (size_t)n);
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
    terminal->style = (struct terminal_style){0};
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
