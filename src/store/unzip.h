/* A ZIP file as a folder, strictly: what two programs could read in two ways is refused.
 *
 * Files are stored or deflated, one after the other, and the directory behind them says the same of
 * each as they say themselves. No encryption, no links, no several parts, no 64-bit form, nothing
 * in front. Sizes are known before a byte is unpacked, and are right or it fails; nothing is
 * written to a disk. Unpacking is zlib's.
 */
#pragma once

#include "store/skill_bundle.h"

/* Whether the bytes begin as such a file does. */
bool unzip_is_zip(struct span bytes);

/* Adds its files to the folder. */
int unzip(struct span bytes, struct skill_bundle *folder, struct error *err);
