#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/date.h"
#include "base/limits.h"
#include "base/utf8.h"

/* More of one value is cut, more of a line is lost. */
#define VALUE_MAX 256
/* A pipe that is ready takes so many in one piece, without waiting. */
#define LINE_BYTES PIPE_BUF

static const char *const level_names[] = {"error", "warning", "info", "debug"};

static struct {
    int fd;
    bool is_open, is_socket, is_ours;
    enum log_format format;
    enum log_level most;
    uint64_t lost;
} out = {.fd = -1};

/* A descriptor of our own with O_NONBLOCK: on the one we were given it would be everybody's who has
 * it, too. A socket (the journal's) cannot be opened again, but sent to without waiting; a pipe of
 * another user's cannot either, and is asked before each line whether it has room. */
enum log_level log_level_of(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(level_names); i++)
        if (strcmp(name, level_names[i]) == 0)
            return (enum log_level)i;
    return LOG_INFO;
}

void log_open(int fd, enum log_format format, enum log_level most)
{
    char path[32];
    struct stat st;
    int own;

    log_close();
    out.format = format;
    out.most = most;
    out.is_socket = fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    own = out.is_socket ? -1 : open(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    out.is_ours = own >= 0;
    out.fd = own >= 0 ? own : fd;
    out.is_open = true;
}

void log_close(void)
{
    if (out.is_ours)
        close_fd(&out.fd);
    out.fd = -1;
    out.is_open = out.is_ours = false;
    out.lost = 0;
}

bool log_is_json(void)
{
    return out.is_open && out.format == LOG_JSON;
}

bool log_has(enum log_level level)
{
    return out.is_open && level <= out.most;
}

static bool is_plain(const char *text)
{
    if (!*text)
        return false;
    for (; *text; text++)
        if (*text <= ' ' || *text >= 0x7f || strchr("\"\\=", *text))
            return false;
    return true;
}

/* One character that is not ASCII, as JSON escapes it: what moves a cursor or ends a line somewhere
 * does neither here. Returns its bytes. */
static size_t add_escaped(struct buf *line, const char *text, size_t len)
{
    uint32_t c = 0xfffd;
    int n = utf8_decode(text, len, &c);

    if (n <= 0)
        c = 0xfffd;
    if (c >= 0x10000)
        (void)buf_printf(line, NULL, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10),
                         0xdc00 + ((c - 0x10000) & 0x3ff));
    else
        (void)buf_printf(line, NULL, "\\u%04x", c);
    return n > 0 ? (size_t)n : 1;
}

/* Between quotes, with what JSON has for everything else: it is readable for people, too. */
static void add_quoted(struct buf *line, const char *text)
{
    size_t len = strnlen(text, VALUE_MAX);

    (void)buf_add_str(line, "\"", NULL);
    for (size_t i = 0; i < len;) {
        unsigned char c = (unsigned char)text[i];

        if (c >= 0x80) {
            i += add_escaped(line, text + i, len - i);
            continue;
        }
        if (c == '"' || c == '\\')
            (void)buf_printf(line, NULL, "\\%c", c);
        else if (c < ' ' || c == 0x7f)
            (void)buf_printf(line, NULL, "\\u%04x", c);
        else
            (void)buf_add(line, &c, 1, NULL);
        i++;
    }
    (void)buf_add_str(line, "\"", NULL);
}

static void add_number(struct buf *line, double number)
{
    if (number > -1e15 && number < 1e15 && (double)(int64_t)number == number)
        (void)buf_printf(line, NULL, "%lld", (long long)number);
    else
        (void)buf_printf(line, NULL, "%.3f", number);
}

static void add_field(struct buf *line, const struct log_field *field)
{
    bool is_json = out.format == LOG_JSON;

    if (field->is_left_out)
        return;
    (void)buf_printf(line, NULL, is_json ? ",\"%s\":" : " %s=", field->key);
    if (!field->text)
        add_number(line, field->number);
    else if (!is_json && is_plain(field->text) && strlen(field->text) <= VALUE_MAX)
        (void)buf_add_str(line, field->text, NULL);
    else
        add_quoted(line, field->text);
}

static void add_head(struct buf *line, enum log_level level, const char *event)
{
    char date[DATE_SIZE];

    date_millis_now(date);
    (void)buf_printf(line, NULL,
                     out.format == LOG_JSON ? "{\"time\":\"%s\",\"level\":\"%s\",\"event\":\"%s\""
                                            : "%s %s %s",
                     date, level_names[level], event);
}

static void put(const struct buf *line)
{
    struct pollfd ready = {.fd = out.fd, .events = POLLOUT};
    ssize_t n = -1;

    if (out.is_socket)
        n = send(out.fd, line->data, line->len, MSG_DONTWAIT | MSG_NOSIGNAL);
    else if (out.is_ours || (poll(&ready, 1, 0) == 1 && (ready.revents & POLLOUT)))
        n = write(out.fd, line->data, line->len);

    if (n < 0)
        out.lost++;
    else
        out.lost = 0;
}

void log_event(enum log_level level, const char *event, const struct log_field *fields, size_t n)
{
    const struct log_field lost = {"lines_lost", .number = (double)out.lost,
                                   .is_left_out = out.lost == 0};
    cleanup(buf_done) struct buf line;

    buf_init(&line, LINE_BYTES);
    add_head(&line, level, event);
    for (size_t i = 0; i < n; i++)
        add_field(&line, &fields[i]);
    add_field(&line, &lost);
    if (buf_add_str(&line, out.format == LOG_JSON ? "}\n" : "\n", NULL) == 0)
        put(&line);
}
