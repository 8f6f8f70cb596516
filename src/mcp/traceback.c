/* The traceback of an exception in a few lines. A model has written the program: it needs the
 * places in it, not those in libraries, and the message is in the first line of the result. */
#include <string.h>

#include "base/cleanup.h"
#include "mcp/internal.h"
#include "mcp/tools.h"

#define LINES_MAX 40

/* Of one line of the program. */
#define SOURCE_MAX ((size_t)200)

static bool begins(struct span line, const char *word)
{
    return line.len >= strlen(word) && memcmp(line.data, word, strlen(word)) == 0;
}

size_t mcp_traceback_tail(const struct run *run, const char *text, size_t len)
{
    const char *traceback = run->result.exception.traceback;
    size_t tail = traceback ? strlen(traceback) : 0, end = len;

    /* Those of groups and of other makers stay as they are. */
    if (!tail || (strncmp(traceback, "Traceback (most recent", 22) != 0 &&
                  strncmp(traceback, "  File \"", 8) != 0))
        return 0;
    while (tail && traceback[tail - 1] == '\n')
        tail--;
    while (len && text[len - 1] == '\n' && len > tail)
        len--;
    return len >= tail && memcmp(text + len - tail, traceback, tail) == 0 ? end - (len - tail) : 0;
}

/* `  File "<cell 3>", line 12, in f`. */
struct frame {
    struct span file, line, name;
};

static bool read_frame(struct span text, struct frame *ret)
{
    static const char begin[] = "  File \"", middle[] = "\", line ", end[] = ", in ";
    const char *at, *stop = text.data + text.len, *in;

    if (!begins(text, begin))
        return false;
    ret->file.data = text.data + sizeof(begin) - 1;
    at = memmem(ret->file.data, (size_t)(stop - ret->file.data), middle, sizeof(middle) - 1);
    if (!at)
        return false;
    ret->file.len = (size_t)(at - ret->file.data);
    ret->line.data = at + sizeof(middle) - 1;
    in = memmem(ret->line.data, (size_t)(stop - ret->line.data), end, sizeof(end) - 1);
    ret->line.len = (size_t)((in ? in : stop) - ret->line.data);
    ret->name = in ? (struct span){in + sizeof(end) - 1, (size_t)(stop - in) - sizeof(end) + 1}
                   : (struct span){"", 0};
    return true;
}

static bool is_library(struct span file)
{
    static const char *const places[] = {"/usr/", "<frozen ", "/tmp/packages/",
                                         "<__array_function__"};

    for (size_t i = 0; i < ARRAY_SIZE(places); i++)
        if (begins(file, places[i]))
            return true;
    /* Code compiled by Cython names its source, of which there is no line to show. */
    return file.len > 4 && memcmp(file.data + file.len - 4, ".pyx", 4) == 0;
}

/* A program has no other name for itself. */
static bool is_program(struct span file)
{
    return begins(file, "<");
}

static int add_span(struct buf *out, struct span s)
{
    return mcp_add_words(out, s.data, s.len, MCP_WORDS_INSIDE);
}

static int add_frame(const struct frame *frame, struct buf *out)
{
    if ((!is_program(frame->file) &&
         (add_span(out, frame->file) < 0 || buf_add_str(out, " ", NULL) < 0)) ||
        buf_add_str(out, "line ", NULL) < 0 || add_span(out, frame->line) < 0)
        return -1;
    if (frame->name.len &&
        !(frame->name.len == 8 && memcmp(frame->name.data, "<module>", 8) == 0) &&
        (buf_add_str(out, " in ", NULL) < 0 || add_span(out, frame->name) < 0))
        return -1;
    return buf_add_str(out, ":", NULL);
}

/* Returns the start of the last exception; those before it led to it. */
static const char *last_block(const char *text)
{
    static const char *const joints[] = {
        "\n\nDuring handling of the above exception, another exception occurred:\n\n",
        "\n\nThe above exception was the direct cause of the following exception:\n\n"};
    const char *last = text;

    for (size_t i = 0; i < ARRAY_SIZE(joints); i++)
        for (const char *at = strstr(text, joints[i]); at; at = strstr(at + 1, joints[i]))
            if (at + strlen(joints[i]) > last)
                last = at + strlen(joints[i]);
    return last;
}

/* The exception that led to it, in its own words. */
static int add_cause(const char *text, const char *last, struct buf *out)
{
    const char *joint = last, *line;

    if (last == text)
        return 0;
    for (unsigned newlines = 0; joint > text && newlines < 4; joint--)
        newlines += joint[-1] == '\n'; /* two before the words of the interpreter, two after */
    while (joint > text && joint[-1] == '\n')
        joint--;
    line = memrchr(text, '\n', (size_t)(joint - text));
    line = line ? line + 1 : text;
    if (buf_add_str(out, "after ", NULL) < 0 ||
        add_span(out, (struct span){line, (size_t)(joint - line)}) < 0)
        return -1;
    return buf_add_str(out, "\n", NULL);
}

/* A line of the program; of a long one, its beginning. */
static int add_source(struct span line, struct buf *out)
{
    struct span shown = {line.data, line.len < SOURCE_MAX ? line.len : SOURCE_MAX};

    while (shown.len < line.len && shown.len &&
           ((unsigned char)line.data[shown.len] & 0xc0) == 0x80)
        shown.len--;
    if (add_span(out, shown) < 0 || (shown.len < line.len && buf_add_str(out, "…", NULL) < 0))
        return -1;
    return buf_add_str(out, "\n", NULL);
}

/* A line that is no Python, with its mark below. Of a long one, what is around the mark. */
static int add_marked(struct span line, struct buf *out)
{
    const char *next = line.data + line.len + (line.data[line.len] == '\n');
    size_t mark = strspn(next, " ");

    if (line.len <= SOURCE_MAX)
        return add_source(line, out);
    if (next[mark] == '^' && mark > SOURCE_MAX / 2 && mark < line.len) {
        size_t from = mark - SOURCE_MAX / 4;

        while (from < mark && ((unsigned char)line.data[from] & 0xc0) == 0x80)
            from++;
        if (buf_add_str(out, "    …", NULL) < 0)
            return -1;
        line = (struct span){line.data + from, line.len - from};
    }
    return add_source(line, out);
}

static int add_block(const char *text, struct buf *out)
{
    bool is_shown = false, is_syntax = false, is_long = false;
    unsigned lines = 0;

    while (*text && lines < LINES_MAX) {
        const struct span line = {text, strcspn(text, "\n")};
        struct frame frame;
        int r = 0;

        if (read_frame(line, &frame)) {
            is_shown = !is_library(frame.file);
            r = is_shown ? add_frame(&frame, out) : 0;
            lines += is_shown;
            is_syntax = is_shown && !frame.name.len; /* of a line that is no Python */
            if (is_syntax && r == 0)
                r = buf_add_str(out, "\n", NULL);
        } else if (begins(line, "    ") && is_syntax) {
            /* The mark of a line that was cut stands elsewhere. */
            r = is_long && strspn(line.data, " ~^") >= line.len ? 0 : add_marked(line, out);
            is_long = line.len > SOURCE_MAX;
        } else if (begins(line, "    ") && is_shown &&
                   strspn(line.data, " ~^") < line.len) { /* not the marks below it */
            r = buf_add_str(out, " ", NULL) < 0
                    ? -1
                    : add_source((struct span){line.data + strspn(line.data, " "),
                                               line.len - strspn(line.data, " ")},
                                 out);
            is_shown = false;
        }
        if (r < 0)
            return -1;
        text += line.len;
        text += *text == '\n';
    }
    return 0;
}

/* One frame says no more than the first line of the result. */
static bool is_known(const struct run *run, const struct buf *frames)
{
    const char *newline = memchr(buf_str(frames), '\n', frames->len);

    return run->result.exception.line && newline && newline + 1 == buf_str(frames) + frames->len &&
           strncmp(buf_str(frames), "line ", 5) == 0;
}

int mcp_add_traceback(const struct run *run, struct buf *out)
{
    const char *text = run->result.exception.traceback;
    cleanup(buf_done) struct buf frames = {0};
    size_t len = text ? strlen(text) : 0;

    if (!len)
        return 0;
    buf_init(&frames, MIB);
    if (mcp_traceback_tail(run, text, len)) {
        if (add_cause(text, last_block(text), &frames) < 0 ||
            add_block(last_block(text), &frames) < 0)
            return -1;
    } else if (memmem(buf_str(out), out->len, text, len) ||
               mcp_add_words(&frames, text, len, MCP_WORDS_LINES) < 0) {
        return 0;
    }
    if (!frames.len || is_known(run, &frames))
        return 0;
    if (frames.data[frames.len - 1] != '\n' && buf_add_str(&frames, "\n", NULL) < 0)
        return -1;
    return buf_add_str(out, "[traceback]\n", NULL) < 0
               ? -1
               : buf_add(out, frames.data, frames.len, NULL);
}
