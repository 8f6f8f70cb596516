/* The table of what is masked: one row for each way to recognise a kind of secret or of personal
 * data. The same rows are read by the generator (tools/gen-mask.c), by the matchers, and by
 * `belljar mask --explain`.
 */
#pragma once

#include <stdint.h>

/* Who looks at a place where the anchor of a row was found. */
enum scrub_matcher {
    SCRUB_TOKEN,    /* the row's pattern is all there is to it */
    SCRUB_AWS,      /* a token, behind which a bare secret key may stand */
    SCRUB_NAME,     /* a word that names secrets: what is assigned to it */
    SCRUB_PAIR,     /* a name that stands before a value, on the next line or in the next field */
    SCRUB_QUERY,    /* ?name=value in a URL */
    SCRUB_URL,      /* scheme://user:password@host */
    SCRUB_HEADER,   /* Authorization: scheme value */
    SCRUB_SCHEME,   /* Bearer value, Basic value, anywhere */
    SCRUB_COOKIE,   /* Cookie: name=value; ... */
    SCRUB_LOGIN,    /* curl -u user:password, .netrc, .pgpass */
    SCRUB_MANIFEST, /* data: of a Kubernetes Secret */
    SCRUB_NEAR,     /* a UUID or a bare key behind the name of the service */
    SCRUB_PEM,      /* -----BEGIN ... PRIVATE KEY-----, up to its end */
    SCRUB_EMAIL,
    SCRUB_PHONE,
    SCRUB_DIGITS, /* payment cards and social security numbers */
    SCRUB_IBAN,
    SCRUB_IPV4,
    SCRUB_IPV6,
};

/* What must hold for the bytes that a pattern found. */
enum scrub_check {
    SCRUB_ANY,       /* the shape says enough */
    SCRUB_MIXED,     /* letters and digits, as chance makes them */
    SCRUB_RANDOM,    /* as many bits in each character as chance gives */
    SCRUB_CRC32,     /* last six: CRC-32 of those before, in base 62. Wrong: only as a whole word */
    SCRUB_OPENAI,    /* a constant stands in the middle */
    SCRUB_BECH32,    /* checksum of BIP 173 */
    SCRUB_SNOWFLAKE, /* first part is a decimal number in base64 */
    SCRUB_JWT,       /* first two parts are JSON in base64 */
    SCRUB_NOT_WORDS  /* not made of dictionary-like words */
};

#define SCRUB_AGGRESSIVE 1u /* only where personal data is masked */
#define SCRUB_ANYCASE    2u
#define SCRUB_EXACT      4u  /* a longer run is something else */
#define SCRUB_INSIDE     8u  /* so distinctive that no word boundary is asked for */
#define SCRUB_GENERIC    16u /* recognised by where it stands: any other kind names it better */

struct scrub_kind {
    const char *name;
    const char *label; /* what is put in its place */
    enum scrub_matcher matcher;
    enum scrub_check check;
    unsigned flags;
    /* An expression of literal characters, [classes], {m,n} and one (group), which is what gets
     * masked; without a group it is all. Each part takes as much as it can and never gives back. */
    const char *pattern;
    const char *context; /* words of which one must stand in the lines before, or NULL */
};

extern const struct scrub_kind scrub_kinds[];
extern const unsigned scrub_kind_count;

/* ---- made of the patterns at build time (tools/gen-mask.c) ---- */

#define SCRUB_STEPS_MAX 20

struct scrub_step {
    uint16_t class; /* index into scrub_classes */
    uint16_t min, max;
};

struct scrub_program {
    struct scrub_step steps[SCRUB_STEPS_MAX];
    struct scrub_step
        left; /* what stands before the anchor and is masked with it; max 0: nothing */
    uint8_t n_steps;
    uint8_t width; /* of the anchor: so many bytes from its start are of fixed form */
    uint8_t group_from, group_to; /* steps that are masked */
    uint16_t anchor[16];          /* the class of each of its bytes */
};

/* Sixteen masks of 16 bits: bit (c & 15) of word (c >> 4). */
typedef uint16_t scrub_class[16];

extern const struct scrub_program scrub_programs[];
extern const scrub_class scrub_classes[];

/* Databases of the anchors: of secrets alone, and with personal data. */
extern const unsigned char scrub_database_secrets[], scrub_database_all[];
extern const unsigned scrub_database_secrets_size, scrub_database_all_size;

static inline int scrub_in_class(unsigned index, unsigned char c)
{
    return scrub_classes[index][c >> 4] >> (c & 15) & 1;
}
