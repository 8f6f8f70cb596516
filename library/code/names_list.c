/* The lists behind names.h, and the numbers of words. */
#include "library/code/names_internal.h"

#include <stdlib.h>
#include <string.h>

void *names_add(struct names *n, void **list, size_t *count, size_t *size, size_t item)
{
    char *place;

    if (*count == *size) {
        size_t wanted = *size ? 2 * *size : 64;
        void *grown = reallocarray(*list, wanted, item);

        if (!grown) {
            n->is_out_of_memory = true;
            return NULL;
        }
        *list = grown;
        *size = wanted;
    }
    place = (char *)*list + *count * item;
    memset(place, 0, item);
    (*count)++;
    return place;
}

static uint32_t hash(const char *text, uint32_t len)
{
    uint32_t h = 2166136261U;

    for (uint32_t i = 0; i < len; i++)
        h = (h ^ (unsigned char)text[i]) * 16777619U;
    return h ^ h >> 15;
}

/* The slot of a word, or the empty one where it belongs. Slots hold numbers from 1. */
static uint32_t slot_of(const struct names *n, const char *text, uint32_t len)
{
    uint32_t i = hash(text, len) & n->word_mask;

    for (;; i = (i + 1) & n->word_mask) {
        const struct names_word *w;

        if (!n->word_slots[i])
            return i;
        w = &n->words[n->word_slots[i] - 1];
        if (w->len == len && memcmp(n->text + w->start, text, len) == 0)
            return i;
    }
}

static bool grow_slots(struct names *n)
{
    uint32_t size = n->word_slots ? 2 * (n->word_mask + 1) : 256;
    uint32_t *slots = calloc(size, sizeof(*slots));

    if (!slots) {
        n->is_out_of_memory = true;
        return false;
    }
    free(n->word_slots);
    n->word_slots = slots;
    n->word_mask = size - 1;
    for (uint32_t i = 0; i < n->n_words; i++)
        slots[slot_of(n, n->text + n->words[i].start, n->words[i].len)] = i + 1;
    return true;
}

uint32_t names_word(struct names *n, uint32_t start, uint32_t len)
{
    struct names_word *w;
    uint32_t slot;

    if ((!n->word_slots || 2 * n->n_words > n->word_mask) && !grow_slots(n))
        return 0;
    slot = slot_of(n, n->text + start, len);
    if (n->word_slots[slot])
        return n->word_slots[slot] - 1;
    w = names_add(n, (void **)&n->words, &n->n_words, &n->words_size, sizeof(*w));
    if (!w)
        return 0;
    *w = (struct names_word){start, len};
    n->word_slots[slot] = (uint32_t)n->n_words;
    return (uint32_t)n->n_words - 1;
}

uint32_t names_find(const struct names *n, const char *word, size_t len)
{
    uint32_t slot;

    if (!n->word_slots || len > UINT32_MAX)
        return NAMES_NOWHERE;
    slot = n->word_slots[slot_of(n, word, (uint32_t)len)];
    return slot ? slot - 1 : NAMES_NOWHERE;
}

uint32_t names_add_scope(struct names *n, enum names_scope_kind kind, uint32_t parent,
                         uint32_t line)
{
    struct names_scope *scope =
        names_add(n, (void **)&n->scopes, &n->n_scopes, &n->scopes_size, sizeof(*scope));

    if (!scope)
        return 0;
    *scope = (struct names_scope){kind, parent, NAMES_NOWHERE, line, UINT32_MAX};
    return (uint32_t)n->n_scopes - 1;
}

void names_done(struct names *n)
{
    free(n->events);
    free(n->scopes);
    free(n->imports);
    free(n->words);
    free(n->word_slots);
    free(n->entries);
    *n = (struct names){0};
}
