#include "cli/output_sink.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include "api/display.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/stream.h"

void output_sink_init(struct output_sink *outlet, int fd, const char *color)
{
    *outlet = (struct output_sink){.fd = fd, .is_terminal = isatty(fd)};
    terminal_begin(&outlet->terminal, terminal_has_color(fd, color));
}

static int outlet_write(struct output_sink *outlet, const char *data, size_t len)
{
    cleanup(buf_done) struct buf visible = {0};

    if (!outlet->is_terminal)
        return file_write_all(outlet->fd, data, len);
    buf_init(&visible, SIZE_MAX / 2);
    if (terminal_feed(&outlet->terminal, data, len, &visible, NULL) < 0)
        return -1;
    return file_write_all(outlet->fd, buf_str(&visible), visible.len);
}

static bool is_writable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};

    return poll(&p, 1, 0) == 1;
}

/* The text of a thing that was shown, where print() would have put it. */
static const struct run_form *text_of(const struct run_display *display)
{
    uint32_t width, height;

    return display_picture(display, &width, &height) ? NULL
                                                     : run_display_form(display, "text/plain");
}

/* The rest of one text and a newline. Returns 1 when it is out, 0 when our reader is slow. */
static int show_text(struct output_sink *outlet, const struct run_form *text, bool waits)
{
    while (text && outlet->display_at <= text->len) {
        size_t n = text->len - outlet->display_at;

        if (!waits && !is_writable(outlet->fd))
            return 0;
        n = n < PIPE_BUF ? n : PIPE_BUF;
        if ((n ? outlet_write(outlet, text->data + outlet->display_at, n)
               : outlet_write(outlet, "\n", 1)) < 0)
            return -1;
        outlet->display_at += n ? n : 1;
    }
    outlet->displays++;
    outlet->display_at = 0;
    return 1;
}

static int show(struct output_sink *outlet, const struct run *run)
{
    int r = 1;

    while (r == 1 && outlet->displays < run->result.n_displays)
        r = show_text(outlet, text_of(&run->result.displays[outlet->displays]), false);
    return r < 0 ? -1 : 0;
}

void output_sink_show_rest(struct output_sink *outlet, const struct run *run, bool begun)
{
    if (begun && !outlet->display_at)
        return;
    while (outlet->displays < run->result.n_displays &&
           show_text(outlet, text_of(&run->result.displays[outlet->displays]), true) == 1 && !begun)
        ;
    if (!begun)
        outlet->displays = outlet->display_at = 0; /* ready for the next program */
}

/* A pipe that is writable takes PIPE_BUF bytes without blocking. */
int output_sink_pass(struct output_sink *outlet, const struct run *run,
                     const struct run_event *event)
{
    const char *data = event->data;
    size_t len = event->len;

    if (event->kind == RUN_EVENT_DISPLAY && outlet->shown == run->result.out.total)
        return show(outlet, run);
    if (event->kind != RUN_EVENT_STDOUT && event->kind != RUN_EVENT_STDERR)
        return 0;
    if (outlet->display_at && (show(outlet, run) < 0 || outlet->display_at))
        return outlet->display_at ? 0 : -1;
    if (outlet->shown < event->offset || outlet->shown >= run->terms.limits.output_bytes)
        return 0; /* our reader fell behind: order matters more than haste */
    if (len > run->terms.limits.output_bytes - outlet->shown)
        len = (size_t)(run->terms.limits.output_bytes - outlet->shown);
    while (len && is_writable(outlet->fd)) {
        size_t n = len < PIPE_BUF ? len : PIPE_BUF;

        if (outlet_write(outlet, data, n) < 0)
            return -1;
        outlet->shown += n;
        data += n;
        len -= n;
    }
    return 0;
}

int output_sink_catch_up(struct output_sink *outlet, const struct run *run, bool is_stderr)
{
    const struct run_stream *stream = is_stderr ? &run->result.err : &run->result.out;
    cleanup(buf_done) struct buf rest = {0};
    struct run_event event = {.kind = is_stderr ? RUN_EVENT_STDERR : RUN_EVENT_STDOUT,
                              .offset = outlet->shown};

    if (stream->total > run->terms.limits.output_bytes || outlet->shown >= stream->total)
        return 0;
    buf_init(&rest, LIMIT_OUTPUT_BYTES_MAX + KIB);
    if (run_stream_render_rest(stream, outlet->shown, &rest, NULL) < 0 || !rest.len)
        return 0;
    event.data = rest.data;
    event.len = rest.len;
    return output_sink_pass(outlet, run, &event);
}

void output_sink_finish(struct output_sink *outlet, const struct run_stream *stream)
{
    cleanup(buf_done) struct buf rest = {0};

    buf_init(&rest, LIMIT_OUTPUT_BYTES_MAX + KIB);
    if (run_stream_render_rest(stream, outlet->shown, &rest, NULL) == 0 && rest.len)
        (void)outlet_write(outlet, buf_str(&rest), rest.len);
    if (outlet->is_terminal) {
        buf_clear(&rest);
        if (terminal_finish(&outlet->terminal, &rest, NULL) == 0)
            (void)file_write_all(outlet->fd, buf_str(&rest), rest.len);
    }
    outlet->shown = 0;
}
