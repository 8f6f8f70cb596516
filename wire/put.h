/* Bytes into the file of an image, or of packed files. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Writes all of it, also past the limit on file sizes of a file that is large enough. What cannot
 * be read stays a hole. 0 or -errno: EPERM, EFBIG or ENOSPC if the file has no room. */
int put_bytes(int fd, const void *data, size_t len, uint64_t at);
