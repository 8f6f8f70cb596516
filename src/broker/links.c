/* Files that have several names, all of which were made through us: a hash table by device and
 * inode number. */
#include <stdlib.h>

#include "broker/internal.h"

#define LINKS_FIRST 256

/* A slot: `names` 0 and `ino` set: a file that was here; others may stand behind it. */
static struct known_link *find_slot(const struct known_links *l, dev_t dev, ino_t ino)
{
    uint64_t hash = ((uint64_t)ino ^ (uint64_t)dev << 40) * UINT64_C(0x9e3779b97f4a7c15);
    size_t slot = (size_t)(hash >> 20) & (l->n_slots - 1);

    while (l->slots[slot].ino && (l->slots[slot].ino != ino || l->slots[slot].dev != dev))
        slot = (slot + 1) & (l->n_slots - 1);
    return &l->slots[slot];
}

static struct known_link *find(const struct broker *b, const struct stat *st)
{
    struct known_link *link =
        b->links.n_slots ? find_slot(&b->links, st->st_dev, st->st_ino) : NULL;

    return link && link->names ? link : NULL;
}

/* Into a table that is at most half full, without what is gone. */
static int make_room(struct known_links *l)
{
    struct known_links grown = {.n_slots = LINKS_FIRST};

    if (2 * (l->n_used + 1) <= l->n_slots)
        return 0;
    while (grown.n_slots < 4 * (l->n_files + 1))
        grown.n_slots *= 2;
    grown.slots = calloc(grown.n_slots, sizeof(*grown.slots));
    if (!grown.slots)
        return -1;
    for (size_t i = 0; i < l->n_slots; i++)
        if (l->slots[i].names)
            *find_slot(&grown, l->slots[i].dev, l->slots[i].ino) = l->slots[i];
    grown.n_files = grown.n_used = l->n_files;
    free(l->slots);
    *l = grown;
    return 0;
}

nlink_t links_known(const struct broker *b, const struct stat *st)
{
    const struct known_link *link = find(b, st);

    return link ? link->names : 0;
}

/* A file whose other names are unknown stays unknown. */
bool links_have_room(struct broker *b, const struct stat *st)
{
    return st->st_nlink != 1 || find(b, st) ||
           (b->links.n_files < LINKS_MAX && make_room(&b->links) == 0);
}

void links_note(struct broker *b, const struct stat *st)
{
    struct known_link *link = find(b, st);

    if (link) {
        link->names++;
        return;
    }
    if (st->st_nlink != 1 || !links_have_room(b, st))
        return;
    link = find_slot(&b->links, st->st_dev, st->st_ino);
    b->links.n_used += !link->ino;
    b->links.n_files++;
    *link = (struct known_link){st->st_dev, st->st_ino, 2};
}

void links_forget(struct broker *b, const struct stat *st)
{
    struct known_link *link = find(b, st);

    if (link && --link->names < 2) {
        link->names = 0;
        b->links.n_files--;
    }
}
