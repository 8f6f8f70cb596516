/* The way to the disk: records first, then the signed head, then the next round. Nobody waits. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "trail/trail_internal.h"

#define TEMPORARY_SIZE 48

/* Each process has its own: two may be at it at once. */
static void temporary_name(char name[TEMPORARY_SIZE])
{
    (void)snprintf(name, TEMPORARY_SIZE, HEAD_NAME ".%d.tmp", (int)getpid());
}

/* A head for `mark`, in a file that has no place yet. Returns its descriptor. */
static int write_head(const struct trail *trail, const struct record_mark *mark, struct error *err)
{
    cleanup_close int fd = -1;
    char name[TEMPORARY_SIZE], text[HEAD_TEXT_SIZE];
    struct head head;

    if (head_make(mark, trail->key, &head, err) < 0)
        return -1;
    head_text(&head, text);
    temporary_name(name);
    fd = openat(trail->dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || file_write_all(fd, text, strlen(text)) < 0)
        return error_errno(err, "write the signed head of the trail");
    return take_fd(fd);
}

/* It takes its place, unless another process has said more. */
static int place_head(const struct trail *trail, const struct record_mark *mark, struct error *err)
{
    char name[TEMPORARY_SIZE];
    struct head present;

    temporary_name(name);
    if (head_read(trail->dir, &present, NULL) == 0 && present.mark.seq > mark->seq)
        return unlinkat(trail->dir, name, 0) < 0 ? error_errno(err, "remove `%s`", name) : 0;
    return renameat(trail->dir, name, trail->dir, HEAD_NAME) < 0
               ? error_errno(err, "replace the signed head of the trail")
               : 0;
}

int trail_sign_now(struct trail *trail, struct error *err)
{
    cleanup_close int fd = -1;

    if (fdatasync(trail->fd) < 0)
        return error_errno(err, "bring the trail to the disk");
    fd = write_head(trail, &trail->mark, err);
    if (fd < 0)
        return -1;
    if (fdatasync(fd) < 0)
        return error_errno(err, "bring the signed head of the trail to the disk");
    trail->is_dirty = false;
    return place_head(trail, &trail->mark, err);
}

/* --- rounds --- */

/* A disk that has failed once may have lost what it was given: nothing more is promised. */
static void break_off(struct trail *trail, int errnum)
{
    if (!trail->broken)
        trail_note(trail, "the disk does not take the trail: %s; nothing more is run",
                   strerror(errnum));
    trail->broken = errnum ? errnum : EIO;
}

static void on_head_synced(struct trail *trail)
{
    cleanup_error struct error err = {0};
    int r = trail_lock(trail, &err);

    close_fd(&trail->head_fd);
    if (r == 0) {
        r = place_head(trail, &trail->syncing, &err);
        trail_unlock(trail);
    }
    /* The older head is still true; the next round tries again. */
    if (r < 0)
        trail->is_dirty = true;
    if (trail->is_dirty)
        trail_sync_soon(trail);
}

static void on_synced(void *arg, int result)
{
    struct trail *trail = arg;
    cleanup_error struct error err = {0};

    if (result < 0) {
        close_fd(&trail->head_fd);
        break_off(trail, -result);
        return;
    }
    if (trail->head_fd >= 0) {
        on_head_synced(trail);
        return;
    }
    trail->head_fd = write_head(trail, &trail->syncing, &err);
    if (trail->head_fd >= 0)
        sync_start(trail->sync, trail->head_fd);
    else
        trail->is_dirty = true; /* a full disk has no room for it: the next record tries again */
}

static void on_timer(void *arg)
{
    struct trail *trail = arg;

    trail->has_timer = false;
    trail_sync(trail);
}

void trail_sync(struct trail *trail)
{
    if (!trail->is_dirty || trail->broken || sync_is_busy(trail->sync))
        return;
    trail->is_dirty = false;
    trail->syncing = trail->mark;
    sync_start(trail->sync, trail->fd);
}

void trail_sync_soon(struct trail *trail)
{
    /* Not put off by the next record: the first one waits longest. */
    if (trail->timer && !trail->has_timer && !sync_is_busy(trail->sync)) {
        loop_timer_start(trail->timer, TRAIL_SYNC_MS);
        trail->has_timer = true;
    }
    trail->is_dirty = true;
}

int trail_sync_open(struct trail *trail, struct error *err)
{
    if (sync_new(trail->options.loop, on_synced, trail, &trail->sync, err) < 0)
        return -1;
    if (!trail->options.loop)
        return 0;
    trail->timer = loop_timer(trail->options.loop, on_timer, trail);
    return trail->timer ? 0 : error_set(err, E_SYSTEM, "out of memory");
}

/* Everything on the disk, and a head that says so. */
void trail_sync_close(struct trail *trail)
{
    cleanup_error struct error err = {0};

    while (trail->sync && sync_is_busy(trail->sync)) /* records, then the head */
        sync_wait(trail->sync);
    if (trail->is_dirty && trail->fd >= 0 && trail->key && !trail->is_key_new && !trail->broken &&
        trail_lock(trail, &err) == 0) {
        if (trail_sign_now(trail, &err) < 0)
            trail_note(trail, "the head of the trail was not signed: %s", err.message);
        trail_unlock(trail);
    }
    loop_watch_free(trail->timer);
    sync_free(trail->sync);
}
