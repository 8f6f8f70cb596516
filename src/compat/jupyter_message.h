/* Messages of Jupyter on a WebSocket, in both of its forms.
 *
 * `v1.kernel.websocket.jupyter.org`: binary. A count and as many offsets, 64 bits in little endian;
 * between two offsets are channel, header, parent header, metadata, content, and buffers. Without
 * a subprotocol: texts, each one JSON object with the same members.
 *
 * All bytes are a stranger's. Of a message we keep its header, to which answers refer, and its
 * content; buffers are for widgets, which do not exist here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/error.h"

#define JUPYTER_PROTOCOL      "v1.kernel.websocket.jupyter.org"
#define JUPYTER_VERSION       "5.3"
#define JUPYTER_HEADER_BYTES  ((size_t)4096)
#define JUPYTER_MESSAGE_BYTES (8 * MIB)

enum jupyter_channel {
    JUPYTER_SHELL,
    JUPYTER_CONTROL,
    JUPYTER_STDIN,
    JUPYTER_IOPUB,
    JUPYTER_CHANNELS,
};

struct jupyter_message {
    enum jupyter_channel channel;
    json_t *header; /* an object with the texts `msg_id` and `msg_type` */
    json_t *content;
};

/* E_INVALID: it is none. It may pause in a fiber. */
int jupyter_message_read(const char *data, size_t len, bool is_binary,
                         struct jupyter_message *ret_message, struct error *err);
void jupyter_message_done(struct jupyter_message *message);

/* A message of ours. The parts are lent; `parent` may be NULL. */
struct jupyter_answer {
    enum jupyter_channel channel;
    const char *type, *id, *session;
    const json_t *parent, *content;
};

int jupyter_message_write(const struct jupyter_answer *answer, bool is_binary, struct buf *out,
                          struct error *err);
