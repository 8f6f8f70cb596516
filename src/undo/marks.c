#include "undo/marks.h"

#include <stdlib.h>

#include "undo/entry.h"

static struct undo_mark *find(const struct undo_marks *m, uint64_t dev, uint64_t ino)
{
    uint64_t hash = (ino ^ dev << 40) * UINT64_C(0x9e3779b97f4a7c15);
    size_t slot = (size_t)(hash >> 20) & (m->n_slots - 1);

    while (m->slots[slot].ino && (m->slots[slot].ino != ino || m->slots[slot].dev != dev))
        slot = (slot + 1) & (m->n_slots - 1);
    return &m->slots[slot];
}

static int make_room(struct undo_marks *m)
{
    struct undo_marks grown = {.count = m->count, .n_slots = m->n_slots ? 2 * m->n_slots : 64};

    if (2 * (m->count + 1) <= m->n_slots)
        return 0;
    grown.slots = calloc(grown.n_slots, sizeof(*grown.slots));
    if (!grown.slots)
        return -1;
    for (size_t i = 0; i < m->n_slots; i++)
        if (m->slots[i].ino)
            *find(&grown, m->slots[i].dev, m->slots[i].ino) = m->slots[i];
    free(m->slots);
    *m = grown;
    return 0;
}

int undo_marks_set(struct undo_marks *m, const struct undo_mark *mark)
{
    struct undo_mark *slot;

    if (!mark->ino)
        return 0;
    if (make_room(m) < 0)
        return -1;
    slot = find(m, mark->dev, mark->ino);
    m->count += !slot->ino;
    *slot = *mark;
    return 0;
}

bool undo_marks_has(const struct undo_marks *m, const struct stat *st)
{
    const struct undo_mark *slot = m->n_slots ? find(m, st->st_dev, st->st_ino) : NULL;

    return slot && slot->ino && slot->ctime_ns == file_time_ns(&st->st_ctim);
}

void undo_marks_done(struct undo_marks *m)
{
    free(m->slots);
    *m = (struct undo_marks){0};
}
