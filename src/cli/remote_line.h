/* Lines that a person types for a cell of a server's session, which asks for them with the event
 * `input`. The terminal is only read while one is wanted, as by typed_line.h. */
#pragma once

#include "cli/remote.h"

/* `event`: the data of the event. */
void remote_line_want(struct remote *remote, struct client_stream *stream, const json_t *event);

/* The terminal can be read. */
void remote_line_read(struct remote *remote, struct client_stream *stream);

/* Ctrl-C, or the end of the cell: what was typed so far is forgotten. */
void remote_line_forget(struct remote *remote, struct client_stream *stream);
