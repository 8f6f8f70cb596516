#include "base/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/utf8.h"

/* A line that fits one write to a pipe is never mixed with another's. */
#define LINE_MAX_BYTES ((size_t)4096)

enum log_level log_threshold = LOG_LEVEL_WARNING;
static bool uses_color;

static const struct {
    const char *name;
    const char *color;
} levels[] = {
    [LOG_LEVEL_ERROR] = {"error",   "\033[31m"},
    [LOG_LEVEL_WARNING] = {"warning", "\033[33m"},
    [LOG_LEVEL_INFO] = {"info",    "\033[32m"},
    [LOG_LEVEL_DEBUG] = {"debug",   "\033[2m" },
};

struct line {
    char text[LINE_MAX_BYTES];
    size_t len;
    bool is_full;
};

/* Whole pieces only: a cut in the middle of an escape or a character would be a new one. The last
 * bytes stay free for the ellipsis and the newline. */
static void add(struct line *line, const char *text, size_t len)
{
    if (line->is_full || len > LINE_MAX_BYTES - 8 - line->len) {
        line->is_full = true;
        return;
    }
    memcpy(line->text + line->len, text, len);
    line->len += len;
}

static void add_str(struct line *line, const char *text)
{
    add(line, text, strlen(text));
}

/* Printable as it stands: no control character, no C1, no invalid byte. */
static int printable(const char *text, size_t len)
{
    uint32_t c = 0;
    int n = utf8_decode(text, len, &c);

    return n > 0 && c >= 0x20 && c != 0x7f && !(c >= 0x80 && c < 0xa0) && c != 0x2028 && c != 0x2029
               ? n
               : 0;
}

static void add_escaped(struct line *line, const char *text, bool is_quoted)
{
    size_t len = strlen(text);

    while (len) {
        int n = printable(text, len);
        char hex[8];

        if (n == 0) {
            (void)snprintf(hex, sizeof(hex), "\\x%02x", (unsigned char)*text);
            add(line, *text == '\n' ? "\\n" : hex, *text == '\n' ? 2 : 4);
            n = 1;
        } else if (is_quoted && (*text == '"' || *text == '\\')) {
            add(line, (char[]){'\\', *text}, 2);
        } else {
            add(line, text, (size_t)n);
        }
        text += n;
        len -= (size_t)n;
    }
}

static bool needs_quotes(const char *text)
{
    if (!*text)
        return true;
    for (; *text; text++)
        if ((unsigned char)*text <= ' ' || (unsigned char)*text >= 0x7f || strchr("\"\\=", *text))
            return true;
    return false;
}

static void add_field(struct line *line, const struct log_field *field)
{
    const char *text = field->text ? field->text : "";
    char number[32];

    add_str(line, " ");
    add_str(line, field->key);
    add_str(line, "=");
    if (field->is_number) {
        (void)snprintf(number, sizeof(number), "%" PRId64, field->number);
        add_str(line, number);
    } else if (needs_quotes(text)) {
        add_str(line, "\"");
        add_escaped(line, text, true);
        add_str(line, "\"");
    } else {
        add_str(line, text);
    }
}

void log_setup(const char *level, bool has_color)
{
    for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
        if (strcmp(level, levels[i].name) == 0)
            log_threshold = (enum log_level)i;
    uses_color = has_color;
}

void log_write(enum log_level level, const char *message, const struct log_field *fields)
{
    struct line line;

    line.len = 0;
    line.is_full = false;
    if (uses_color)
        add_str(&line, levels[level].color);
    add_str(&line, levels[level].name);
    if (uses_color)
        add_str(&line, "\033[0m");
    add_str(&line, " ");
    add_escaped(&line, message, false);
    for (; fields && fields->key; fields++)
        add_field(&line, fields);
    if (line.is_full) {
        memcpy(line.text + line.len, "…", sizeof("…") - 1);
        line.len += sizeof("…") - 1;
    }
    line.text[line.len++] = '\n';
    /* The log may be lost: there is nowhere to complain to. */
    (void)!write(STDERR_FILENO, line.text, line.len);
}
