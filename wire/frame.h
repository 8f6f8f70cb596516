/* Frames on a stream socket: {magic, version, type, length} in eight bytes, then `length` bytes,
 * and descriptors that came along.
 *
 * The decoder is fed whatever the socket gave. It checks the header before it allocates for the
 * body, keeps at most one frame, and after its first error refuses everything: a peer that breaks
 * the framing is not resynchronised, it is cut off.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/message.h"

#define FRAME_HEADER 8
#define FRAME_FDS    48 /* descriptors in flight on one channel: more than a WIRE_SPAWN carries */

struct frame {
    enum wire_type type;
    const uint8_t *body; /* valid until the next call on the decoder */
    size_t len;
};

struct frame_decoder {
    uint8_t head[FRAME_HEADER];
    size_t head_len;
    uint8_t *body;
    size_t body_len;
    size_t body_want;
    bool complete; /* the frame in `body` was given out */
    bool broken;
    bool is_pipe;       /* found out with the first read */
    int fds[FRAME_FDS]; /* in order of arrival, owned here until taken */
    size_t n_fds;
};

void frame_decoder_init(struct frame_decoder *d);
void frame_decoder_done(struct frame_decoder *d);

/* Consumes from data[0..len) up to the end of one frame. Returns 1: *ret_frame is complete; 0: more
 * bytes are needed and all were consumed; -1: the peer broke the framing (or no memory: the same to
 * the caller). *ret_used: bytes consumed. */
int frame_feed(struct frame_decoder *d, const uint8_t *data, size_t len, size_t *ret_used,
               struct frame *ret_frame);

/* The oldest descriptor that came with the frames so far, or -1. */
int frame_take_fd(struct frame_decoder *d);

/* One recvmsg(2) into `data`, or read(2) from a pipe; descriptors go to the decoder. Returns bytes,
 * 0 at the end of the stream, -errno. */
long frame_recv(struct frame_decoder *d, int sock, uint8_t *data, size_t size);

/* Blocking side (zygote, init, kernel): waits for the next frame. Bytes beyond it must not be
 * pending, which holds since their peer waits for an answer or sends with gaps of its own frames
 * read one header at a time. Returns 1: a frame, 0: end of the stream, -1: broken or an error. */
int frame_wait(struct frame_decoder *d, int sock, struct frame *ret_frame);

/* Blocking send of a whole frame with descriptors (none into a pipe). Returns 0 or -errno. */
int frame_send(int sock, enum wire_type type, const struct pack *body, const int *fds,
               size_t n_fds);

/* The header of a frame, for senders with buffers of their own. */
void frame_header(uint8_t head[FRAME_HEADER], enum wire_type type, uint32_t len);
