/* What the bus keeps of durable jobs is sealed: AES-256-GCM under a key that only the machines of
 * the cluster have (`jobs_key`). The name of the place is sealed with it, so nothing can be put
 * elsewhere, and whoever can write to the bus without the key makes no jobs.
 *
 *    0  12 random bytes    12  the text, encrypted    then 16 bytes of the tag
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/span.h"

#define JOB_SEAL_KEY   32
#define JOB_SEAL_EXTRA 28

struct job_seal {
    unsigned char key[JOB_SEAL_KEY];
};

/* The file has 64 hexadecimal digits and a newline. */
int job_seal_load(const char *path, struct job_seal *ret_seal, struct error *err);

/* Both add to `out`. E_DENIED: it was not sealed with this key for that place. */
int job_seal_close(const struct job_seal *seal, const char *place, struct span text,
                   struct buf *out, struct error *err);
int job_seal_open(const struct job_seal *seal, const char *place, struct span sealed,
                  struct buf *out, struct error *err);
