/* One of our own streams, to which a program's output is passed as it comes.
 *
 * Our reader may be slow and the clock of the run must go on, so nothing here waits for it while
 * the program runs: output that cannot be written now is kept, within the limit, and follows at the
 * end.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/run.h"
#include "base/terminal_text.h"

struct output_sink {
    int fd;
    uint64_t shown;    /* bytes of the program's stream that were passed on */
    size_t displays;   /* things shown whose text was passed on, */
    size_t display_at; /* and how much of the next one's */
    bool is_terminal;
    struct terminal terminal;
};

/* `color` is the option of that name. */
void output_sink_init(struct output_sink *outlet, int fd, const char *color);

/* Passes a chunk of output on, or the text of a thing that was shown; a picture has none, and other
 * events are ignored. -1: nobody reads us any more. */
int output_sink_pass(struct output_sink *outlet, const struct run *run,
                     const struct run_event *event);

/* Passes on what the program wrote while nothing was passed on. What was dropped, and what our
 * reader does not take now, follows at the end. -1: nobody reads us any more. */
int output_sink_catch_up(struct output_sink *outlet, const struct run *run, bool is_stderr);

/* Writes what was kept back of the stream; afterwards it is ready for the next program. */
void output_sink_finish(struct output_sink *outlet, const struct run_stream *stream);

/* Texts of things shown that were kept back, before or after the rest of the stream: `begun` is for
 * the one of which our reader has half already. */
void output_sink_show_rest(struct output_sink *outlet, const struct run *run, bool begun);
