/* The files of a sandbox, as far as a run's answer speaks of them. */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "pool/box_internal.h"

int box_take_workspace(struct box *b, struct error *err)
{
    int fd = frame_take_fd(&b->init.decoder);

    if (fd < 0)
        return error_set(err, E_PROTOCOL, "the sandbox came without its workspace");
    return files_init(&b->files, fd, err);
}

static void add_file(void *arg, enum files_change change, const struct files_entry *entry)
{
    static const enum run_file_change changes[] = {
        [FILES_NEW] = RUN_FILE_NEW,
        [FILES_CHANGED] = RUN_FILE_CHANGED,
        [FILES_GONE] = RUN_FILE_GONE,
    };
    struct run *run = arg;
    struct run_file *file;

    if (!run->files)
        run->files = calloc(LIMIT_FILES_NAMED, sizeof(*run->files));
    if (!run->files || run->n_files == LIMIT_FILES_NAMED) {
        run->has_more_files = true;
        return;
    }
    file = &run->files[run->n_files];
    *file = (struct run_file){strdup(entry->path), entry->size, changes[change]};
    if (file->path)
        run->n_files++;
    else
        run->has_more_files = true;
}

struct files *box_files(struct box *b)
{
    b->is_seen_stale = true;
    return b->files.fd >= 0 ? &b->files : NULL;
}

void box_look_at_files(struct box *b)
{
    if (!b->is_seen_stale || b->files.fd < 0)
        return;
    files_list_done(&b->seen);
    b->seen = (struct files_list){0};
    if (files_snapshot(&b->files, &b->seen, NULL) == 0)
        b->is_seen_stale = false;
}

/* A sandbox begins with nothing in its workspace, a cell with what the one before left. */
void box_note_files(struct box *b, struct run *run)
{
    struct files_list after;

    if (b->files.fd < 0 || b->is_refused)
        return;
    if (files_snapshot(&b->files, &after, NULL) < 0) {
        run->has_more_files = true;
        return;
    }
    run->has_more_files = after.is_partial;
    files_diff(&b->seen, &after, add_file, run);
    files_list_done(&b->seen);
    b->seen = after;
}
