/* One of our own streams, to which a program's output is passed as it comes: all of it.
 *
 * The reader may be slow, and the clock of the run and its signals must go on, so nothing here
 * blocks while the program runs. What the reader does not take at once waits in memory. The owner
 * then holds the program's output (pool_hold), so that no more than a piece ever waits, and lets it
 * flow again when on_room is called.
 */
#pragma once

#include <stdbool.h>

#include "base/loop.h"
#include "base/run.h"
#include "base/terminal_screen.h"
#include "base/terminal_text.h"

#define OUTPUT_SINK_NONE ((struct output_sink){.fd = -1, .twin = -1})

struct output_sink {
    int fd;
    int twin; /* the same pipe or terminal, opened again so that writes do not block; or -1 */
    bool is_terminal;
    bool is_socket;
    bool is_file;   /* a write never waits for a reader */
    bool is_paused; /* everything waits */
    int failure;    /* errno of a write that failed, after which nothing is written; 0: none did */
    struct terminal terminal;
    bool waits;     /* for its reader: the program is somewhere else, and so is what holds it */
    bool is_screen; /* the program has a terminal of its own: it may draw everywhere */
    struct terminal_screen screen;
    bool had_reports; /* of a screen that was finished: the terminal may have sent some */
    bool is_in_line;  /* the next two: of a terminal; the last line has no end */
    bool has_escape;  /* a colour may still be on */
    struct buf waiting;
    size_t written;    /* of it */
    struct loop *loop; /* NULL: what waits is written with the next piece, or at the end */
    struct loop_watch *watch;
    loop_fn on_room;
    void *user;
};

/* `color` is the option of that name. */
void output_sink_init(struct output_sink *sink, int fd, const char *color);

/* Whether our two streams end in the same place: a terminal, or a pipe or file by `2>&1`. */
bool output_sink_is_one(void);

/* While something waits, the sink writes whenever its reader takes more; `on_room` is called when
 * all of it is written, or a write failed. */
void output_sink_follow(struct output_sink *sink, struct loop *loop, loop_fn on_room, void *user);
void output_sink_unfollow(struct output_sink *sink);

/* Passes on a chunk of output, or the text of a thing that was shown; a picture has none, and other
 * events are ignored. -1: nobody reads it any more, or the write failed. */
int output_sink_pass(struct output_sink *sink, const struct run_event *event);

/* Keeps everything back, or lets it go. */
int output_sink_pause(struct output_sink *sink, bool is_paused);

static inline bool output_sink_is_behind(const struct output_sink *sink)
{
    return sink->waiting.len > sink->written;
}

/* The program has ended: writes what waits, however long the reader takes. Afterwards the sink is
 * ready for the next program. -1 as above. */
int output_sink_finish(struct output_sink *sink);

/* The errno of a write that failed, as an error: what was lost, and why. 0: none did. */
int output_sink_check(const struct output_sink *sink, const char *name, struct error *err);

void output_sink_done(struct output_sink *sink);
