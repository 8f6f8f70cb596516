/* What a session's Python kernel does when it is asked for an image of itself, or to become the
 * copy of another. In the receive loop, with the lock of the interpreter held. */
#pragma once

#include <stdbool.h>

#include "guest/image/image.h"
#include "wire/frame.h"

/* How it went is said on the pipe that came along. True: this is the copy, where everything that
 * was received belongs to the past; *ret_flags: enum wire_restore_flag. */
bool cells_write_image(const struct frame *frame, struct frame_decoder *decoder,
                       uint32_t *ret_flags);

/* Returns only if it could not be done, with the reason. */
void cells_restore(const struct frame *frame, struct frame_decoder *decoder,
                   struct image_refusal *why);
