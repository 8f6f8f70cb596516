/* The name of a secret and the sign behind it. For assign.c and unassigned.c. */
#pragma once

#include "mask/internal.h"

/* Blanks between a name, its sign and its value. */
#define SIGN_BLANKS_MAX 64

struct sign_name {
    size_t start, end;
    bool is_part;    /* of a name: only what looks secret by itself is taken */
    bool is_flag;    /* --name */
    bool is_element; /* <name> */
    bool is_quoted;  /* "name" or ['name'] */
    bool has_line;   /* the line begins with it */
    size_t closed;   /* behind its quotes and brackets, */
    size_t behind;   /* and blanks */
};

enum sign {
    SIGN_NONE,
    SIGN_MORE,
    SIGN_EQUALS,
    SIGN_COLON,
    SIGN_ELEMENT,
    SIGN_BLANK,
    SIGN_COMMA,
    SIGN_CALL,    /* PASSWORD('...') */
    SIGN_URL,     /* escaped as in a URL */
    SIGN_ESCAPED, /* &lt;name&gt; */
    SIGN_TAGGED,  /* name="name">, <name a="b">: an element, with less reason to believe it */
    SIGN_LOOSE,   /* of which the same is true of any value */
    SIGN_NESTED,  /* variable "name" { */
};

bool sign_is_name_char(unsigned char c);

/* Is the anchor a word of another alphabet? All of them mean a password. */
bool sign_is_wide(unsigned kind);

/* The name around the anchor. */
void sign_find_name(const struct masker *s, unsigned kind, size_t from, size_t to,
                    struct sign_name *name);

/* The sign behind the name. *ret_at: where the value begins, or may. */
enum sign sign_find(const struct masker *s, struct sign_name *name, size_t *ret_at);

/* The signs that are more than one character, or far from the name. */
enum sign sign_find_far(const struct masker *s, const struct sign_name *name, size_t *ret_at);

/* Does the name stand behind "name" or "key", a sign and quotes, as they are or escaped? */
bool sign_is_field_name(const struct masker *s, const struct sign_name *name);

bool sign_is_element(enum sign sign);

/* ---- what only looks like an assignment (unassigned.c) ---- */

bool sign_is_named_in_prose(const struct masker *s, const struct sign_name *name);
bool sign_is_no_element(const struct masker *s, const struct sign_name *name, size_t at);
bool sign_is_echo(const struct masker *s, const struct sign_name *name,
                  const struct masker_value *value);
bool sign_is_pointer(const struct masker *s, const struct sign_name *name, size_t at);
bool sign_is_report(const struct masker *s, const struct sign_name *name, enum masker_name what,
                    const struct masker_value *value);
bool sign_is_label(const struct masker *s, const struct sign_name *name);
bool sign_is_address(const struct masker *s, const struct sign_name *name);
