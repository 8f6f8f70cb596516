/* The end of a run: how it left the files that it wrote.
 *
 * The journal itself says which files these are and where they went; it is read once more from the
 * start. That costs time at the end of a run and none while it goes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "undo/journal_internal.h"
#include "undo/reader.h"
#include "undo/tree.h"

static int note(struct tree *tree, const struct entry *e)
{
    struct tree_node *n = tree_make(tree, e->grant, e->path);

    if (!n)
        return -1;
    n->dev = e->dev;
    n->ino = e->ino;
    return 0;
}

static int replay_rename(struct tree *tree, const struct entry *e)
{
    struct tree_node *n = tree_make(tree, e->grant, e->path);

    return n ? tree_move(tree, n, e->grant, e->more) : -1;
}

static int replay_swap(struct tree *tree, const struct entry *e)
{
    struct tree_node *one = tree_make(tree, e->grant, e->path);
    struct tree_node *other = tree_make(tree, e->grant, e->more);

    if (!one || !other || one == other)
        return -1;
    tree_detach(tree, other);
    if (tree_move(tree, one, e->grant, e->more) < 0)
        return -1;
    return tree_move(tree, other, e->grant, e->path);
}

static void forget(struct tree *tree, const struct entry *e)
{
    struct tree_node *n = tree_find(tree, e->grant, e->path);

    if (n && n->parent)
        tree_detach(tree, n);
}

/* Records the present state of every file that was written. If the tree cannot follow a file,
 * `undo` does not know its final state and leaves it alone. */
static struct tree *replay(const struct reader *r)
{
    struct tree *tree = tree_new();

    for (size_t i = 0; tree && i < r->count; i++) {
        const struct entry *e = &r->entries[i];

        switch (e->kind) {
        case ENTRY_CREATED:
        case ENTRY_CHANGE:
        case ENTRY_META:
            (void)note(tree, e);
            break;
        case ENTRY_RENAME:
            (void)replay_rename(tree, e);
            break;
        case ENTRY_SWAP:
            (void)replay_swap(tree, e);
            break;
        case ENTRY_REMOVE:
        case ENTRY_DROP:
            forget(tree, e);
            break;
        default:
            break;
        }
    }
    return tree;
}

/* A directory may have moved to a much longer path with all that is in it. The paths are for people
 * to read; beyond this size of the journal they are left out. */
static bool has_room_for_paths(const struct journal *j)
{
    return (uint64_t)j->size < j->limits.text + j->limits.text / 4;
}

/* A file that is not there any more, or another one: undo finds that out by itself. */
static int note_final(struct journal *j, const struct tree_node *n, struct error *err)
{
    struct entry entry = {.kind = ENTRY_FINAL};
    char path[PATH_MAX];
    cleanup_close int fd = -1;
    struct stat st;

    if (!n->ino || tree_path(n, &entry.grant, path) < 0 || entry.grant >= LIMIT_GRANTS ||
        j->grants[entry.grant] < 0)
        return 0;
    fd = journal_open_below(j->grants[entry.grant], path);
    if (fd < 0 || fstat(fd, &st) < 0 || st.st_dev != n->dev || st.st_ino != n->ino)
        return 0;
    if (j->on_final && S_ISREG(st.st_mode))
        j->on_final(j->on_final_arg, entry.grant, path, fd, &st);
    entry.path = has_room_for_paths(j) ? path : "";
    entry_set_stat(&entry, &st);
    return journal_append(j, &entry, err);
}

void journal_on_final(struct journal *j, journal_final_fn *fn, void *arg)
{
    j->on_final = fn;
    j->on_final_arg = arg;
}

int journal_seal(struct journal *j, struct error *err)
{
    cleanup(reader_done) struct reader reader = {0};
    struct entry end = {.kind = ENTRY_SEAL, .id = j->entries, .path = ""};
    struct tree *tree = NULL;
    int r = -1;

    journal_stop_background(j);
    /* The bounds are for what the program does; this is for us. */
    j->limits.bytes = UINT64_MAX;
    j->is_sealing = true;
    if (reader_load(&reader, j->dir, err) < 0)
        return -1;
    tree = replay(&reader);
    if (!tree)
        return error_memory(err);
    r = 0;
    for (struct tree_node *n = tree_last(tree); n && r == 0; n = n->made_before)
        r = note_final(j, n, err);
    if (r == 0)
        r = journal_append(j, &end, err);
    tree_free(tree);
    j->is_sealed = r == 0;
    return r;
}
