/* The table of what is masked: one row for each way to recognise a kind of secret or of personal
 * data. The same rows are read by the generator (tools/gen-mask.c), by the matchers, and by
 * `belljar mask --explain`.
 */
#pragma once

#include <stdint.h>

/* The matcher for a place where the anchor of a row was found. */
enum masker_matcher {
    MASKER_TOKEN,     /* the row's pattern is all there is to it */
    MASKER_AWS,       /* a token, behind which a bare secret key may stand */
    MASKER_NAME,      /* a word that names secrets: what is assigned to it */
    MASKER_PAIR,      /* a name that stands before a value, on the next line or in the next field */
    MASKER_QUERY,     /* ?name=value in a URL */
    MASKER_SIGNATURE, /* X-Signature: value, also as a string and its value */
    MASKER_URL,       /* scheme://user:password@host */
    MASKER_HEADER,    /* Authorization: scheme value */
    MASKER_SCHEME,    /* Bearer value, Basic value, anywhere */
    MASKER_COOKIE,    /* Cookie: name=value; ... */
    MASKER_LOGIN,     /* curl -u user:password, .netrc, .pgpass */
    MASKER_COMMAND,   /* an argument of a well-known command */
    MASKER_CALL,      /* an argument of a call that logs in */
    MASKER_ACCOUNT,   /* credentials: user / value */
    MASKER_BEFORE,    /* value="..." name="token" */
    MASKER_ECHO,      /* echo value | command */
    MASKER_HERE,      /* command <<< value */
    MASKER_USE,       /* use value as the password */
    MASKER_SQL,       /* a value in a statement */
    MASKER_ENCODED,   /* a name and a value in base64 */
    MASKER_MANIFEST,  /* data: of a Kubernetes Secret */
    MASKER_NEAR,      /* a UUID or a bare key behind the name of the service */
    MASKER_PEM,       /* -----BEGIN ... PRIVATE KEY-----, up to its end */
    MASKER_EMAIL,
    MASKER_PHONE,
    MASKER_DIGITS, /* payment cards and social security numbers */
    MASKER_IBAN,
    MASKER_IPV4,
    MASKER_IPV6,
};

/* Conditions for the bytes that a pattern found. */
enum masker_check {
    MASKER_ANY,    /* the shape says enough */
    MASKER_MIXED,  /* letters and digits, as chance makes them */
    MASKER_RANDOM, /* as many bits in each character as chance gives */
    MASKER_CRC32,  /* last six: CRC-32 of those before, in base 62. Wrong: only as a whole word */
    MASKER_OPENAI, /* a constant stands in the middle */
    MASKER_BECH32, /* checksum of BIP 173 */
    MASKER_SNOWFLAKE, /* first part is a decimal number in base64 */
    MASKER_JWT,       /* first two parts are JSON in base64 */
    MASKER_DSN,       /* the password of user:password@tcp(host) */
    MASKER_NOT_WORDS  /* not made of dictionary-like words */
};

#define MASKER_AGGRESSIVE 1u /* only where personal data is masked */
#define MASKER_ANYCASE    2u
#define MASKER_EXACT      4u  /* a longer run is something else */
#define MASKER_INSIDE     8u  /* so distinctive that no word boundary is asked for */
#define MASKER_GENERIC    16u /* recognised by where it stands: any other kind names it better */
#define MASKER_FRAGMENT   32u /* its letters stand in many words: only they are the anchor */

struct masker_kind {
    const char *name;
    const char *label; /* what is put in its place */
    enum masker_matcher matcher;
    enum masker_check check;
    unsigned flags;
    /* An expression of literal characters, [classes], {m,n} and one (group), which is what gets
     * masked; without a group it is all. Each part takes as much as it can and never gives back. */
    const char *pattern;
    const char *context; /* words of which one must stand in the lines before, or NULL */
};

extern const struct masker_kind masker_kinds[];
extern const unsigned masker_kind_count;

/* ---- made of the patterns at build time (tools/gen-mask.c) ---- */

#define MASKER_STEPS_MAX 20

struct masker_step {
    uint16_t class; /* index into masker_classes */
    uint16_t min, max;
};

struct masker_program {
    struct masker_step steps[MASKER_STEPS_MAX];
    struct masker_step
        left; /* what stands before the anchor and is masked with it; max 0: nothing */
    uint8_t n_steps;
    uint8_t width; /* of the anchor: so many bytes from its start are of fixed form */
    uint8_t group_from, group_to; /* steps that are masked */
    uint16_t anchor[16];          /* the class of each of its bytes */
};

/* Sixteen masks of 16 bits: bit (c & 15) of word (c >> 4). */
typedef uint16_t masker_class[16];

extern const struct masker_program masker_programs[];
extern const masker_class masker_classes[];

/* Databases of the anchors: of secrets alone, and with personal data. */
extern const unsigned char masker_database_secrets[], masker_database_all[];
extern const unsigned masker_database_secrets_size, masker_database_all_size;

static inline int masker_in_class(unsigned index, unsigned char c)
{
    return masker_classes[index][c >> 4] >> (c & 15) & 1;
}
