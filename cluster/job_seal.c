#include "cluster/job_seal.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/hex.h"
#include "cluster/token_list.h"

int job_seal_load(const char *path, struct job_seal *ret_seal, struct error *err)
{
    cleanup(buf_wipe) struct buf text = BUF_OF(256);
    const char *digits;
    size_t len;

    if (token_list_read_file(path, &text, err) < 0)
        return error_wrap(err, "`jobs_key`");
    digits = buf_str(&text);
    len = strcspn(digits, "\r\n");
    if (len != (size_t)2 * SEAL_KEY || strspn(digits, "0123456789abcdef") != len) {
        error_set(err, E_INVALID, "`%s`: invalid key for jobs", path);
        return error_hint(err, "it has 64 hexadecimal digits: `openssl rand -hex 32`, the same on "
                               "all machines");
    }
    for (size_t i = 0; i < SEAL_KEY; i++)
        ret_seal->key[i] =
            (unsigned char)(hex_value(digits[2 * i]) << 4 | hex_value(digits[2 * i + 1]));
    return 0;
}

int job_seal_close(const struct job_seal *seal, const char *place, struct span text,
                   struct buf *out, struct error *err)
{
    int r = seal_close(seal->key, place, text, out, err);

    return r < 0 ? error_wrap(err, "the copy of the job") : 0;
}

int job_seal_open(const struct job_seal *seal, const char *place, struct span sealed,
                  struct buf *out, struct error *err)
{
    int r = seal_open(seal->key, place, sealed, out, err);

    return r < 0 ? error_wrap(err, "the copy of the job on the bus") : 0;
}
