/* Shared by jsonc.c (reading) and jsonc_edit.c (changing). */
#pragma once

#include <stdbool.h>

#include "cli/setup/jsonc.h"
#include "wire/pack.h"

#define JSONC_NOWHERE ((size_t)-1)

struct jsonc_scan {
    const char *text;
    size_t len;
    size_t at;
    unsigned depth;
    struct error *err;
};

struct jsonc_member {
    size_t key;        /* where its first quote is */
    size_t key_end;    /* behind the last */
    size_t value, end; /* of its value */
    size_t comma;      /* behind it, or JSONC_NOWHERE */
};

/* One object, and the member that was looked for. */
struct jsonc_object {
    size_t open, close; /* the braces */
    size_t count;
    struct jsonc_member first, last;
    bool has_found;
    struct jsonc_member before, found; /* `before`: the member in front of it, if any */
    bool has_before;
};

/* Past the comment that begins at s->at; past all space and comments. */
int jsonc_skip_comment(struct jsonc_scan *s);
int jsonc_skip_space(struct jsonc_scan *s);
int jsonc_skip_value(struct jsonc_scan *s);

/* Looks through the object whose brace stands at s->at. A key that is there twice is E_INVALID. */
int jsonc_look(struct jsonc_scan *s, const char *key, struct jsonc_object *ret_object);

/* Checks the text; s->at is at the root value, or at the end where there is none. */
int jsonc_begin(struct jsonc_scan *s, const char *text, size_t len, struct error *err);

/* A span of the text as jansson's tree, without its comments. */
int jsonc_read(const struct jsonc_scan *s, size_t from, size_t to, json_t **ret_value);
