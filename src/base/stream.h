/* The kept part of one output stream: the first half of the limit, the last half, and the number of
 * bytes dropped between them.
 *
 * The head fills first; from then on the tail is a ring. Memory grows with what is written, never
 * past the limit.
 */
#pragma once

#include "base/clean.h"
#include "base/run.h"

void run_stream_init(struct run_stream *stream, size_t limit);
void run_stream_done(struct run_stream *stream);

/* From here on the whole stream is kept in `store` once the limit is passed. Before the first byte;
 * the store outlives the stream. */
void run_stream_spill(struct run_stream *stream, struct spool_directory *spools, uint64_t *spooled);

/* Hands the spool over, or NULL. */
struct spool *run_stream_take_spool(struct run_stream *stream);

/* Keeps what the limit lets. Out of memory counts the bytes as dropped and fails. */
int run_stream_add(struct run_stream *stream, struct clean_text text, struct error *err);

/* So many bytes were written and are not there; what follows is the tail. The whole is not kept. */
void run_stream_skip(struct run_stream *stream, uint64_t count);

/* Adds head, marker and tail to `out`. The marker, "\n… [N bytes dropped] …\n", stands only where
 * bytes are missing; a character that was cut in two at either edge is left out and counted in N.
 */
int run_stream_render(const struct run_stream *stream, struct buf *out, struct error *err);

/* Copies at most `size` bytes of what was written from *offset on. Where those are not kept,
 * *offset moves to the first byte behind them that is. Returns their number; 0: nothing more was
 * written so far. */
size_t run_stream_read(const struct run_stream *stream, uint64_t *offset, char *data, size_t size);

/* The last bytes, as many as `out`, which is empty, has room for. */
int run_stream_tail(const struct run_stream *stream, struct buf *out);
