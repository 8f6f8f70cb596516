/* Ids as a person types them: a beginning or an end that fits only one, with or without "run_".
 *
 *     struct short_id search = {.word = word};
 *     for each id: short_id_try(&search, id);
 *     short_id_result(&search, ...);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

#define SHORT_ID_SIZE 64

enum short_id_fit { SHORT_ID_NOT, SHORT_ID_PART, SHORT_ID_WHOLE };

struct short_id {
    const char *word;
    char best[SHORT_ID_SIZE];
    enum short_id_fit fit; /* of the best */
    size_t count;          /* of ids that fit as well as the best */
    struct buf ids;        /* of the first few */
};

/* Whether the id fits as well as any before it. The same id may come again. */
bool short_id_try(struct short_id *search, const char *id);

/* Like short_id_try(), for an id that somebody also gave a name. `name` may be NULL. */
bool short_id_try_name(struct short_id *search, const char *id, const char *name);

/* 1: `best` is the one; 0: none fits; -1: several do, and the error names some of them. */
int short_id_result(const struct short_id *search, struct error *err);

void short_id_done(struct short_id *search);
