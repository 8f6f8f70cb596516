/* The link between a host and its virtual machine: many connections over one serial port.
 *
 * The host opens connections, the machine accepts them. A connection is two streams of bytes, and
 * has a number that is never used twice. This header is the frames; machine/mux.h does the work.
 *
 * A frame, little endian:
 *
 *    0  u32  LINK_MARK
 *    4  u8   type
 *    5  u8   0
 *    6  u16  bytes of the payload
 *    8  u64  epoch
 *   16  u64  connection; 0 in HELLO
 *   24       the payload
 *       u32  LINK_TAIL
 *
 *   type    from     payload
 *   HELLO   both     none: an epoch begins. The host's is larger than each before it; the machine
 *                    forgets all connections and says the same
 *   OPEN    host     none: a new connection, whose number is larger than each before it
 *   DATA    both     1 to LINK_DATA_MAX bytes, within the credit of the sender
 *   CREDIT  both     u32: the receiver has passed on so many bytes; as many more may come
 *   CLOSE   both     none: the connection is over in both directions; the last frame for it
 *
 * A port has no connection of its own: whoever opens it after somebody else may see the rest of
 * what that one left, in the middle of a frame. So the host begins with LINK_PAUSE zero bytes,
 * which end no frame, and HELLO. Frames of another epoch are dropped.
 *
 * Each side believes nothing of the other beyond its frames. The reader allocates nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/pack.h"

#define LINK_MARK 0x6b6c6a62u /* "bjlk" */
#define LINK_TAIL 0x646e6a62u /* "bjnd" */

#define LINK_HEADER    24
#define LINK_TAIL_SIZE 4
#define LINK_DATA_MAX  16384
#define LINK_FRAME_MAX (LINK_HEADER + LINK_DATA_MAX + LINK_TAIL_SIZE)
#define LINK_PAUSE     LINK_FRAME_MAX

/* Bytes of one direction of a connection that have not been passed on. */
#define LINK_WINDOW 65536

enum link_side { LINK_HOST = 1, LINK_MACHINE = 2 };

enum link_type { LINK_HELLO = 1, LINK_OPEN, LINK_DATA, LINK_CREDIT, LINK_CLOSE };

struct link_frame {
    enum link_type type;
    uint64_t epoch, connection;
    struct span payload; /* of DATA; lent until the next call */
    uint32_t credit;     /* of CREDIT */
};

/* Takes frames out of bytes. Those of the machine are read by the host, and the other way round. */
struct link_reader {
    enum link_side from;
    uint64_t epoch;
    bool is_lost; /* looks for the HELLO of an epoch */
    size_t len;
    char bytes[LINK_FRAME_MAX];
};

/* The host is given its epoch. The machine's is 0: it takes the first that comes. */
void link_reader_init(struct link_reader *reader, enum link_side from, uint64_t epoch);

/* 1: a frame. 0: all bytes are used, and more are needed. -1: the bytes break the layout; the
 * reader is lost from here on, and may be asked again. *data and *len become what is left. */
int link_read(struct link_reader *reader, const char **data, size_t *len,
              struct link_frame *ret_frame);

/* Writes the whole frame; returns its size. The payload is no larger than LINK_DATA_MAX. */
size_t link_write(const struct link_frame *frame, char bytes[LINK_FRAME_MAX]);
