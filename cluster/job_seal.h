/* The bus's copies of durable jobs are sealed (base/seal.h) under a key that only the machines of
 * the cluster have (`jobs_key`): whoever can write to the bus without the key makes no jobs. */
#pragma once

#include "base/seal.h"

struct job_seal {
    unsigned char key[SEAL_KEY];
};

/* The file has 64 hexadecimal digits and a newline. */
int job_seal_load(const char *path, struct job_seal *ret_seal, struct error *err);

/* Both add to `out`. E_DENIED: it was not sealed with this key for that place. */
int job_seal_close(const struct job_seal *seal, const char *place, struct span text,
                   struct buf *out, struct error *err);
int job_seal_open(const struct job_seal *seal, const char *place, struct span sealed,
                  struct buf *out, struct error *err);
