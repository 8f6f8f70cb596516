/* multipart/form-data (RFC 7578), strictly: a pure look at bytes that copies nothing.
 *
 * Nothing before the first boundary and nothing but a line end behind the last; lines end with
 * CR LF; each part says its name once, as a quoted string, and may say a file name and a type. What
 * can be read in two ways is refused: encodings, `filename*`, escapes, control characters.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/sha256.h"
#include "wire/pack.h"

/* Fields of a form and the files that come with it; no form of ours has more. */
#define MULTIPART_PARTS_MAX 160

struct multipart_part {
    struct span name;
    struct span filename; /* data NULL: none was given */
    struct span type;     /* likewise */
    struct span content;
    uint8_t digest[SHA256_BYTES]; /* of the content, where a reader has set it: */
    bool has_digest;
};

struct multipart {
    struct multipart_part parts[MULTIPART_PARTS_MAX];
    size_t count;
    struct shared *body; /* what they point into, where a reader has set it; or NULL */
};

/* Whether the value of a Content-Type is multipart/form-data. */
bool multipart_is_type(struct span value);

/* The boundary in that value. */
int multipart_boundary(struct span value, struct span *ret_boundary, struct error *err);

/* The parts of the body; they point into it. */
int multipart_parse(struct span body, struct span boundary, struct multipart *ret_parts,
                    struct error *err);
