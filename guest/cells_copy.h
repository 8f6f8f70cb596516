/* Makes an image of a session's Python kernel, or turns it into the copy of another. In the receive
 * loop, with the lock of the interpreter held. */
#pragma once

#include <stdbool.h>

#include "guest/image/image.h"
#include "wire/frame.h"

/* Reports the outcome on the pipe that came along. True: this is the copy, for which all received
 * messages are in the past; *ret_flags: enum wire_restore_flag. */
bool cells_write_image(const struct frame *frame, struct frame_decoder *decoder,
                       uint32_t *ret_flags);

/* Returns only if it could not be done, with the reason. */
void cells_restore(const struct frame *frame, struct frame_decoder *decoder,
                   struct image_refusal *why);
