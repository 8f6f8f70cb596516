/* The initramfs of a virtual machine: what its first process (machine/init.c) finds.
 *
 *   /init             machine/init.c
 *   /modules/NAME.ko  kernel modules
 *   /modules.order    their paths, in the order of loading, one a line
 *   /shares           "TAG PATH": what the host shares under that tag is mounted there; with
 *                     "TAG/NAME", only that directory of it. What lies in another comes behind it
 *   /root             becomes the root: directories, a few files of /etc, and
 *   /root/command     the command and its arguments, one a line; it serves MACHINE_SOCKET
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

#define IMAGE_MODULES "/modules.order"
#define IMAGE_SHARES  "/shares"
#define IMAGE_ROOT    "/root"
#define IMAGE_COMMAND "/command" /* in the root */

/* Lines of the first process on the console begin with it. */
#define IMAGE_SAYS  "machine: "
#define IMAGE_READY "ready"

#define IMAGE_BYTES_MAX ((size_t)64 << 20)

/* One entry each, behind those before it; directories before what is in them. An archive in the
 * format "newc" of cpio. */
int image_add_directory(struct buf *image, const char *path, unsigned mode, struct error *err);
int image_add_file(struct buf *image, const char *path, unsigned mode, const void *data, size_t len,
                   struct error *err);
int image_add_link(struct buf *image, const char *path, const char *target, struct error *err);

/* A file of the host, as it is. */
int image_add_copy(struct buf *image, const char *path, unsigned mode, const char *source,
                   struct error *err);

/* The character device that the first process has as its console. */
int image_add_console(struct buf *image, struct error *err);

int image_end(struct buf *image, struct error *err);
