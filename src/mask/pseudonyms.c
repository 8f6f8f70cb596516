#include "mask/pseudonyms.h"

#include <ctype.h>
#include <search.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define NAMES_MAX  4096
#define VALUE_MAX  512
#define WORDS_MAX  16
#define LABEL_SIZE 24

#define LABEL_END "_REDACTED]"

struct name {
    char label[LABEL_SIZE];
    size_t len;
    char value[];
};

struct pseudonyms {
    unsigned references;
    unsigned count;
    void *by_value, *by_label; /* the same entries, by tsearch(3) */
    struct {
        char word[LABEL_SIZE];
        unsigned last;
    } words[WORDS_MAX];
};

static int compare_values(const void *a, const void *b)
{
    const struct name *x = a, *y = b;

    if (x->len != y->len)
        return x->len < y->len ? -1 : 1;
    return memcmp(x->value, y->value, x->len);
}

static int compare_labels(const void *a, const void *b)
{
    return strcmp(((const struct name *)a)->label, ((const struct name *)b)->label);
}

struct pseudonyms *pseudonyms_new(void)
{
    struct pseudonyms *names = calloc(1, sizeof(*names));

    if (names)
        names->references = 1;
    return names;
}

struct pseudonyms *pseudonyms_ref(struct pseudonyms *names)
{
    if (names)
        names->references++;
    return names;
}

static void forget(void *node)
{
    struct name *name = node;

    explicit_bzero(name->value, name->len);
    free(name);
}

static void keep(void *node)
{
    (void)node; /* the other tree frees it */
}

void pseudonyms_free(struct pseudonyms *names)
{
    if (!names || --names->references > 0)
        return;
    tdestroy(names->by_label, keep);
    tdestroy(names->by_value, forget);
    free(names);
}

/* "EMAIL" of "[EMAIL_REDACTED]"; the next number of that word. */
static bool next_label(struct pseudonyms *names, const char *label, char ret_label[LABEL_SIZE])
{
    size_t len = strlen(label), end = strlen(LABEL_END), i = 0;
    char word[LABEL_SIZE];

    if (len < end + 2 || len - end >= LABEL_SIZE - 8 || strcmp(label + len - end, LABEL_END) != 0)
        return false;
    (void)snprintf(word, sizeof(word), "%.*s", (int)(len - end - 1), label + 1);
    while (i < WORDS_MAX && *names->words[i].word && strcmp(names->words[i].word, word) != 0)
        i++;
    if (i == WORDS_MAX)
        return false;
    memcpy(names->words[i].word, word, sizeof(word));
    (void)snprintf(ret_label, LABEL_SIZE, "%.15s_%u", word, ++names->words[i].last % 1000000);
    return true;
}

static struct name *new_name(const char *text, size_t len)
{
    struct name *name = calloc(1, sizeof(*name) + len + 1);

    if (name) {
        name->len = len;
        memcpy(name->value, text, len);
    }
    return name;
}

const char *pseudonyms_label(struct pseudonyms *names, const char *label, const char *text,
                             size_t len)
{
    struct name *name = len <= VALUE_MAX ? new_name(text, len) : NULL;
    struct name *const *known = name ? tfind(name, &names->by_value, compare_values) : NULL;

    if (known) {
        forget(name);
        return (*known)->label;
    }
    if (!name || names->count == NAMES_MAX || !next_label(names, label, name->label) ||
        !tsearch(name, &names->by_value, compare_values)) {
        if (name)
            forget(name);
        return NULL;
    }
    names->count++;
    /* Without its second place it is a name that is not turned back. */
    (void)tsearch(name, &names->by_label, compare_labels);
    return name->label;
}

/* A name that begins here and stands for itself: not a part of a longer word. */
static const struct name *name_at(const struct pseudonyms *names, const char *text, size_t at,
                                  size_t len)
{
    struct name wanted = {.label = ""};
    struct name *const *found;
    size_t n = 0;

    if (at && (isalnum((unsigned char)text[at - 1]) || text[at - 1] == '_'))
        return NULL;
    while (at + n < len && n < LABEL_SIZE - 1 &&
           (isupper((unsigned char)text[at + n]) || isdigit((unsigned char)text[at + n]) ||
            text[at + n] == '_'))
        n++;
    if (at + n < len && (isalnum((unsigned char)text[at + n]) || text[at + n] == '_'))
        return NULL;
    memcpy(wanted.label, text + at, n);
    found = tfind(&wanted, &names->by_label, compare_labels);
    return found ? *found : NULL;
}

int pseudonyms_back(const struct pseudonyms *names, struct buf *text, struct error *err)
{
    struct buf out;
    size_t from = 0;

    if (!names->count || !text->len)
        return 0;
    buf_init(&out, text->limit);
    for (size_t at = 0; at < text->len; at++) {
        const struct name *name = isupper((unsigned char)text->data[at])
                                      ? name_at(names, text->data, at, text->len)
                                      : NULL;

        if (!name)
            continue;
        if (buf_add(&out, text->data + from, at - from, err) < 0 ||
            buf_add(&out, name->value, name->len, err) < 0) {
            buf_done(&out);
            return -1;
        }
        at += strlen(name->label) - 1;
        from = at + 1;
    }
    if (!from)
        return 0;
    if (buf_add(&out, text->data + from, text->len - from, err) < 0) {
        buf_done(&out);
        return -1;
    }
    buf_done(text);
    *text = out;
    return 0;
}
