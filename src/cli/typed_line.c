#include "cli/typed_line.h"

#include <errno.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"

/* A terminal gives out 4096 bytes of a line; Ctrl-D in a line cuts it in pieces. */
#define LINE_MAX_BYTES (64 * KIB)

bool typed_line_is_possible(void)
{
    return isatty(STDIN_FILENO) == 1;
}

void typed_line_hide(bool hides)
{
    static struct termios before;
    static bool is_hidden;
    struct termios mode;

    if (is_hidden == hides)
        return;
    if (hides && tcgetattr(STDIN_FILENO, &before) == 0) {
        mode = before;
        mode.c_lflag &= ~(tcflag_t)ECHO;
        mode.c_lflag |= ECHONL; /* the cursor is at the left behind the line */
        is_hidden = tcsetattr(STDIN_FILENO, TCSANOW, &mode) == 0;
    } else if (!hides) {
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &before);
        is_hidden = false;
    }
}

static void unwatch(struct typed_line *line)
{
    loop_watch_free(line->watch);
    line->watch = NULL;
    typed_line_hide(false);
}

static void forget(struct typed_line *line)
{
    unwatch(line);
    line->call = NULL;
    line->is_old = false;
    buf_clear(&line->text);
}

static void on_cancel(struct call *call)
{
    forget(call->user);
}

/* Lets the call go, for whatever is answered. */
static struct call *release(struct typed_line *line)
{
    struct call *call = line->call;

    unwatch(line);
    line->call = NULL;
    line->is_old = false;
    call->on_cancel = NULL;
    return call;
}

static void give(struct typed_line *line, bool is_end)
{
    cleanup(buf_done) struct buf text = line->text;

    buf_init(&line->text, LINE_MAX_BYTES);
    if (line->on_line)
        line->on_line(line->user);
    call_give_line(release(line), is_end && !text.len ? NULL : buf_str(&text), text.len);
}

static void on_typed(void *arg)
{
    struct typed_line *line = arg;
    char data[4096];
    ssize_t n = read(STDIN_FILENO, data, sizeof(data));

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0 || buf_add(&line->text, data, (size_t)n, NULL) < 0)
        give(line, true); /* Ctrl-D, the end of the terminal, or more than a line can have */
    else if (data[n - 1] == '\n')
        give(line, false);
}

static void watch(struct typed_line *line)
{
    if (!line->call || line->watch || line->is_paused)
        return;
    line->watch = loop_watch_fd(line->loop, STDIN_FILENO, LOOP_READ, on_typed, line);
    if (!line->watch)
        call_give_line(release(line), NULL, 0);
    else
        typed_line_hide(call_line_is_hidden(line->call));
}

void typed_line_want(struct typed_line *line, struct loop *loop, struct call *call)
{
    if (line->call && !line->is_old) {
        call_refuse_line(call);
        return;
    }
    if (line->call)
        call_give_line(release(line), NULL, 0);
    buf_done(&line->text);
    buf_init(&line->text, LINE_MAX_BYTES);
    line->loop = loop;
    line->call = call;
    call->user = line;
    call->on_cancel = on_cancel;
    watch(line);
}

void typed_line_pause(struct typed_line *line, bool is_paused)
{
    line->is_paused = is_paused;
    if (is_paused)
        unwatch(line);
    else
        watch(line);
}

void typed_line_interrupt(struct typed_line *line)
{
    line->is_old = line->call != NULL;
    buf_clear(&line->text); /* the terminal forgets the rest of the line, too */
}

void typed_line_done(struct typed_line *line)
{
    forget(line);
    buf_done(&line->text);
}
