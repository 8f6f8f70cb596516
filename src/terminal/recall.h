/* Cells typed before: those of this prompt and, where there is a file, of earlier ones. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "terminal/history.h"

struct recall {
    char *items[HISTORY_ENTRIES]; /* oldest first */
    size_t count;
    size_t at;    /* the one that is shown; count: none, the text is new */
    char *typed;  /* what was typed before the first was shown; only those that begin so count */
    size_t fixed; /* bytes of it before the cursor, which have to be equal */
    char *path;   /* of the file, or NULL */
};

/* A history that cannot be read or kept is not used. */
void recall_open(struct recall *recall, const char *path);
void recall_done(struct recall *recall);

/* Keeps the text for this and later prompts. Empty ones and repetitions are not kept. */
void recall_add(struct recall *recall, const char *text);

/* The prompt is empty again. */
void recall_reset(struct recall *recall);

/* The one before or after the one that is shown, given what stands in the prompt; NULL: there is
 * none. The last one after all is what was typed. */
const char *recall_older(struct recall *recall, const char *text, size_t cursor);
const char *recall_newer(struct recall *recall);

/* The nearest before `from` (after it, if `is_newer`) that contains `text`; count: there is none.
 */
size_t recall_find(const struct recall *recall, const char *text, size_t from, bool is_newer);
