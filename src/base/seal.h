/* Text that is kept where others can read and write it: AES-256-GCM under a key that they do not
 * have. The name of the place is sealed with it, so nothing can be put elsewhere.
 *
 *    0  12 random bytes    12  the text, encrypted    then 16 bytes of the tag
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/span.h"

#define SEAL_KEY   32
#define SEAL_EXTRA 28

/* Both add to `out`. E_DENIED: it was not sealed with this key for that place. */
int seal_close(const unsigned char key[SEAL_KEY], const char *place, struct span text,
               struct buf *out, struct error *err);
int seal_open(const unsigned char key[SEAL_KEY], const char *place, struct span sealed,
              struct buf *out, struct error *err);
