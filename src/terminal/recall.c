#include "terminal/recall.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Takes the copy over. */
static void push(struct recall *r, char *copy)
{
    if (!copy)
        return;
    if (r->count && strcmp(r->items[r->count - 1], copy) == 0) {
        free(copy);
        return;
    }
    if (r->count == HISTORY_ENTRIES) {
        free(r->items[0]);
        memmove(r->items, r->items + 1, (HISTORY_ENTRIES - 1) * sizeof(r->items[0]));
        r->count--;
    }
    r->items[r->count++] = copy;
    r->at = r->count;
}

static void on_entry(void *user, const char *text)
{
    push(user, strdup(text));
}

void recall_open(struct recall *r, const char *path)
{
    cleanup_error struct error ignored = {0};

    if (!path || history_file_load(path, on_entry, r, &ignored) < 0)
        return;
    r->path = strdup(path);
}

void recall_done(struct recall *r)
{
    for (size_t i = 0; i < r->count; i++)
        free(r->items[i]);
    free(r->typed);
    free(r->path);
    *r = (struct recall){0};
}

void recall_add(struct recall *r, const char *text)
{
    cleanup_error struct error ignored = {0};

    if (strspn(text, " \t\n") == strlen(text) ||
        (r->count && strcmp(r->items[r->count - 1], text) == 0))
        return;
    push(r, strdup(text));
    if (r->path)
        (void)history_file_add(r->path, text, &ignored);
}

void recall_reset(struct recall *r)
{
    r->at = r->count;
    free(r->typed);
    r->typed = NULL;
}

static bool is_wanted(const struct recall *r, size_t i)
{
    return strncmp(r->items[i], r->typed, r->fixed) == 0 && strcmp(r->items[i], r->typed) != 0;
}

const char *recall_older(struct recall *r, const char *text, size_t cursor)
{
    if (!r->typed) {
        r->typed = strdup(text);
        r->fixed = cursor;
        r->at = r->count;
    }
    for (size_t i = r->at; r->typed && i > 0; i--)
        if (is_wanted(r, i - 1)) {
            r->at = i - 1;
            return r->items[r->at];
        }
    return NULL;
}

const char *recall_newer(struct recall *r)
{
    if (!r->typed || r->at >= r->count)
        return NULL;
    for (size_t i = r->at + 1; i < r->count; i++)
        if (is_wanted(r, i)) {
            r->at = i;
            return r->items[i];
        }
    r->at = r->count;
    return r->typed;
}

size_t recall_find(const struct recall *r, const char *text, size_t from, bool is_newer)
{
    if (is_newer) {
        for (size_t i = from + 1; i < r->count; i++)
            if (strstr(r->items[i], text))
                return i;
    } else {
        for (size_t i = from < r->count ? from : r->count; i > 0; i--)
            if (strstr(r->items[i - 1], text))
                return i - 1;
    }
    return r->count;
}
