/* Copies of sandboxes with copy-on-write grants: the overlays as one file, and what a copy has to
 * know of the directories so that it finds the same conflicts as its source. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sandbox/files_internal.h"
#include "sandbox/overlay_internal.h"
#include "wire/archive.h"

static int copy_bases(struct overlay *to, const struct overlay *from, struct error *err)
{
    if (!from->n_bases)
        return 0;
    to->bases = calloc(from->n_bases, sizeof(*to->bases));
    if (!to->bases)
        return error_memory(err);
    to->size = from->n_bases;
    for (; to->n_bases < from->n_bases; to->n_bases++) {
        struct overlay_base *base = &to->bases[to->n_bases];

        *base = from->bases[to->n_bases];
        base->path = strdup(base->path);
        if (!base->path)
            return error_memory(err);
    }
    return 0;
}

int overlays_past(const struct overlays *overlays, struct overlays **ret_past, struct error *err)
{
    struct overlays *past = overlays ? calloc(1, sizeof(*past)) : NULL;

    *ret_past = past;
    if (!overlays)
        return 0;
    if (!past)
        return error_memory(err);
    past->refs = 1;
    for (; past->count < overlays->count; past->count++) {
        const struct overlay *from = &overlays->items[past->count];
        struct overlay *to = &past->items[past->count];

        *to = (struct overlay){
            .disk.fd = -1, .upper.fd = -1, .seen.fd = -1, .since_ns = from->since_ns};
        to->path = strdup(from->path);
        if (!to->path || copy_bases(to, from, err) < 0) {
            past->count++;
            overlays_unref(take_ptr(*ret_past));
            return error_memory(err);
        }
    }
    return 0;
}

const char *overlays_path(const struct overlays *overlays, size_t index)
{
    return overlays->items[index].path;
}

static struct overlay *find(struct overlays *overlays, const char *path)
{
    for (size_t i = 0; overlays && i < overlays->count; i++)
        if (strcmp(overlays->items[i].path, path) == 0)
            return &overlays->items[i];
    return NULL;
}

int overlays_inherit(struct overlays *overlays, const struct overlays *past, int64_t taken_ns,
                     struct error *err)
{
    for (size_t i = 0; overlays && i < overlays->count; i++)
        if (overlays->items[i].since_ns > taken_ns)
            overlays->items[i].since_ns = taken_ns;
    for (size_t i = 0; past && i < past->count; i++) {
        struct overlay *to = find(overlays, past->items[i].path);

        if (!to || to->n_bases)
            return error_set(err, E_SYSTEM, "a copy-on-write directory is missing in the copy");
        to->since_ns = past->items[i].since_ns;
        if (copy_bases(to, &past->items[i], err) < 0)
            return -1;
    }
    return 0;
}

int overlays_pack(const struct overlays *overlays, int file, char *why, size_t why_size)
{
    cleanup(files_leave) struct files_guard guard = {0};
    int dirs[LIMIT_COW_GRANTS];

    for (size_t i = 0; i < overlays->count; i++)
        dirs[i] = overlays->items[i].upper.fd;
    if (!overlays->count || files_enter(&guard, &overlays->items[0].upper, NULL) < 0) {
        (void)snprintf(why, why_size, "the overlays cannot be read");
        return -1;
    }
    return archive_write_overlays(file, dirs, overlays->count, why, why_size);
}
