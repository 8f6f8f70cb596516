/* Copies of sandboxes with copy-on-write grants: the layers as one file, and what a copy has to
 * know of the directories so that it finds the same conflicts as its source. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sandbox/files_internal.h"
#include "sandbox/layer_internal.h"
#include "wire/archive.h"

static int copy_bases(struct layer *to, const struct layer *from, struct error *err)
{
    if (!from->n_bases)
        return 0;
    to->bases = calloc(from->n_bases, sizeof(*to->bases));
    if (!to->bases)
        return error_memory(err);
    to->size = from->n_bases;
    for (; to->n_bases < from->n_bases; to->n_bases++) {
        struct layer_base *base = &to->bases[to->n_bases];

        *base = from->bases[to->n_bases];
        base->path = strdup(base->path);
        if (!base->path)
            return error_memory(err);
    }
    return 0;
}

int layers_past(const struct layers *layers, struct layers **ret_past, struct error *err)
{
    struct layers *past = layers ? calloc(1, sizeof(*past)) : NULL;

    *ret_past = past;
    if (!layers)
        return 0;
    if (!past)
        return error_memory(err);
    past->refs = 1;
    for (; past->count < layers->count; past->count++) {
        const struct layer *from = &layers->items[past->count];
        struct layer *to = &past->items[past->count];

        *to = (struct layer){
            .disk.fd = -1, .upper.fd = -1, .seen.fd = -1, .since_ns = from->since_ns};
        to->path = strdup(from->path);
        if (!to->path || copy_bases(to, from, err) < 0) {
            past->count++;
            layers_unref(take_ptr(*ret_past));
            return error_memory(err);
        }
    }
    return 0;
}

const char *layers_path(const struct layers *layers, size_t index)
{
    return layers->items[index].path;
}

static struct layer *find(struct layers *layers, const char *path)
{
    for (size_t i = 0; layers && i < layers->count; i++)
        if (strcmp(layers->items[i].path, path) == 0)
            return &layers->items[i];
    return NULL;
}

int layers_inherit(struct layers *layers, const struct layers *past, int64_t taken_ns,
                   struct error *err)
{
    for (size_t i = 0; layers && i < layers->count; i++)
        if (layers->items[i].since_ns > taken_ns)
            layers->items[i].since_ns = taken_ns;
    for (size_t i = 0; past && i < past->count; i++) {
        struct layer *to = find(layers, past->items[i].path);

        if (!to || to->n_bases)
            return error_set(err, E_SYSTEM, "a copy-on-write directory is missing in the copy");
        to->since_ns = past->items[i].since_ns;
        if (copy_bases(to, &past->items[i], err) < 0)
            return -1;
    }
    return 0;
}

int layers_pack(const struct layers *layers, int file, char *why, size_t why_size)
{
    cleanup(files_leave) struct files_guard guard = {0};
    int dirs[LIMIT_COW_GRANTS];

    for (size_t i = 0; i < layers->count; i++)
        dirs[i] = layers->items[i].upper.fd;
    if (!layers->count || files_enter(&guard, &layers->items[0].upper, NULL) < 0) {
        (void)snprintf(why, why_size, "the layers cannot be read");
        return -1;
    }
    return archive_write_layers(file, dirs, layers->count, why, why_size);
}
