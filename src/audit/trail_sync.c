/* The way to the disk: records first, then the signed head, then the next round. Nobody waits. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/trail_internal.h"
#include "base/cleanup.h"
#include "base/file.h"

#define TEMPORARY_SIZE 48

#define CHILD_WAIT_MS 1

/* Each process has its own: two may be at it at once. */
static void temporary_name(char name[TEMPORARY_SIZE])
{
    (void)snprintf(name, TEMPORARY_SIZE, SIGNED_HEAD_NAME ".%d.tmp", (int)getpid());
}

/* Of processes that were killed on the way. One of another container may seem to be gone and is
 * not: it writes its head once more. */
void trail_sync_tidy(const struct trail *trail)
{
    cleanup_closedir DIR *dir = file_open_dir(trail->dir, ".");
    struct dirent *entry;
    int pid, end;

    while (dir && (entry = readdir(dir))) {
        end = 0;
        if (sscanf(entry->d_name, SIGNED_HEAD_NAME ".%d.tmp%n", &pid, &end) == 1 && end &&
            !entry->d_name[end] && kill(pid, 0) < 0 && errno == ESRCH)
            (void)unlinkat(trail->dir, entry->d_name, 0);
    }
}

/* A head for `mark`, in a file that has no place yet. Returns its descriptor. */
static int write_head(const struct trail *trail, const struct record_mark *mark, struct error *err)
{
    cleanup_close int fd = -1;
    char name[TEMPORARY_SIZE], text[SIGNED_HEAD_TEXT_SIZE];
    struct signed_head head;

    if (signed_head_make(mark, trail->key, &head, err) < 0)
        return -1;
    signed_head_text(&head, text);
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
    struct signed_head present;

    temporary_name(name);
    if (signed_head_read(trail->dir, &present, NULL) == 0 && present.mark.seq > mark->seq &&
        signed_head_check(&present, key_public(trail->key), NULL) == 0)
        return unlinkat(trail->dir, name, 0) < 0 ? error_errno(err, "remove `%s`", name) : 0;
    return renameat(trail->dir, name, trail->dir, SIGNED_HEAD_NAME) < 0
               ? error_errno(err, "replace the signed head of the trail")
               : 0;
}

/* Records, then the head; it has no place yet. */
static int bring_to_disk(struct trail *trail, struct error *err)
{
    cleanup_close int fd = -1;

    if (fdatasync(trail->fd) < 0)
        return error_errno(err, "sync the trail to the disk");
    fd = write_head(trail, &trail->mark, err);
    if (fd < 0)
        return -1;
    if (fdatasync(fd) < 0)
        return error_errno(err, "sync the signed head of the trail to the disk");
    trail->is_dirty = false;
    return 0;
}

int trail_sign_now(struct trail *trail, struct error *err)
{
    return bring_to_disk(trail, err) < 0 ? -1 : place_head(trail, &trail->mark, err);
}

/* --- in a child --- */

static void sign_last(struct trail *trail)
{
    cleanup_error struct error err = {0};
    int r = bring_to_disk(trail, &err); /* which takes its time: others may write meanwhile */

    if (r == 0)
        r = trail_lock(trail, &err);
    if (r == 0) {
        r = place_head(trail, &trail->mark, &err);
        trail_unlock(trail);
    }
    if (r < 0)
        trail_note(trail, "the head of the trail was not signed: %s", err.message);
}

/* Nobody may wait for us: not whoever reads our output, nor a terminal that goes away. */
static void let_go(const int *kept, size_t count)
{
    unsigned from = 0;

    (void)setsid();
    (void)prctl(PR_SET_NAME, "belljar-trail", 0, 0, 0);
    for (size_t i = 0; i < count; i++) {
        if ((unsigned)kept[i] > from)
            (void)syscall(SYS_close_range, from, (unsigned)kept[i] - 1, 0U);
        from = (unsigned)kept[i] + 1;
    }
    (void)syscall(SYS_close_range, from, ~0U, 0U);
}

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* A disk that is quick is waited for, so that no child is left to somebody who may not reap it: in
 * many containers pid 1 does not. */
static void wait_for_child(pid_t *child, int milliseconds)
{
    cleanup_close int pidfd = *child ? (int)syscall(SYS_pidfd_open, *child, 0) : -1; /* Linux 5.3 */
    struct pollfd end = {.fd = pidfd, .events = POLLIN};

    if (pidfd >= 0 && poll(&end, 1, milliseconds) > 0 &&
        waitpid(*child, NULL, __WALL | WNOHANG) == *child)
        *child = 0;
}

/* A program that runs for milliseconds does not wait as long again for a disk, nor for the end of
 * Linux's asynchronous calls (base/sync.h). False: there is no child. */
static bool leave_to_child(struct trail *trail, pid_t *ret_child)
{
    int kept[] = {trail->dir, trail->lock, trail->fd};
    /* Without a signal at its end: nobody's waitpid(-1) finds a child it does not know. */
    long pid = syscall(SYS_clone, 0UL, NULL, NULL, NULL, 0UL);

    if (pid > 0)
        *ret_child = (pid_t)pid;
    if (pid != 0)
        return pid > 0;
    qsort(kept, ARRAY_SIZE(kept), sizeof(kept[0]), compare);
    let_go(kept, ARRAY_SIZE(kept));
    trail->options.on_note = NULL;
    sign_last(trail);
    _exit(0);
}

/* --- rounds --- */

/* A disk that has failed once may have lost what it was given: nothing more is promised. */
static void break_off(struct trail *trail, int errnum)
{
    if (!trail->broken)
        trail_note(trail, "the trail cannot be written to the disk: %s; nothing more will run",
                   strerror(errnum));
    trail->broken = errnum ? errnum : EIO;
}

static void end_round(struct trail *trail, bool is_next_due)
{
    trail->is_round = false;
    if (is_next_due)
        trail_sync_soon(trail);
}

static void on_head_synced(void *arg, int result)
{
    struct trail *trail = arg;
    cleanup_error struct error err = {0};
    int r;

    close_fd(&trail->head_fd);
    if (result < 0) {
        end_round(trail, false);
        break_off(trail, -result);
        return;
    }
    r = trail_lock(trail, &err);
    if (r == 0) {
        r = place_head(trail, &trail->syncing, &err);
        trail_unlock(trail);
    }
    /* Otherwise the older head is still true; the next round tries again. */
    end_round(trail, r < 0 || trail->is_dirty);
}

static void on_records_synced(void *arg, int result)
{
    struct trail *trail = arg;
    cleanup_error struct error err = {0};

    if (result < 0) { /* on_failure() has been called */
        end_round(trail, false);
        return;
    }
    trail->head_fd = write_head(trail, &trail->syncing, &err);
    if (trail->head_fd >= 0) {
        sync_start(trail->sync, trail->head_fd);
        return;
    }
    trail->is_dirty = true; /* a full disk has no room for it: the next record tries again */
    end_round(trail, false);
}

/* Of a brief command that goes on after all. */
static bool round_in_child(struct trail *trail)
{
    wait_for_child(&trail->round_child, 0);
    if (trail->round_child) { /* a slow disk */
        trail_sync_soon(trail);
        return true;
    }
    if (!trail->key || trail->is_key_new || !leave_to_child(trail, &trail->round_child))
        return false;
    trail->is_dirty = false;
    return true;
}

static void on_timer(void *arg)
{
    struct trail *trail = arg;

    trail->has_timer = false;
    if (!trail->is_dirty || trail->broken || trail->is_round ||
        (trail->options.is_brief && round_in_child(trail)))
        return;
    trail->is_dirty = false;
    trail->is_round = true;
    trail->syncing = trail->mark;
    group_sync_wait(trail->group, &trail->records);
}

static void start_timer(struct trail *trail)
{
    /* Not put off by the next record: the first one waits longest. */
    if (trail->timer && !trail->has_timer && !trail->is_round) {
        loop_timer_start(trail->timer, TRAIL_SYNC_MS);
        trail->has_timer = true;
    }
}

void trail_sync_soon(struct trail *trail)
{
    start_timer(trail);
    trail->is_dirty = true;
}

int trail_sync_now(struct trail *trail, struct error *err)
{
    if (fdatasync(trail->fd) == 0)
        return 0;
    break_off(trail, errno);
    errno = trail->broken;
    return error_errno(err, "sync the trail to the disk");
}

/* The file of a record that is not on the disk: those before it were synced when they were sealed.
 * The descriptor shares the memory of failures with ours. */
static int open_records(void *user)
{
    const struct trail *trail = user;
    int fd = fcntl(trail->fd, F_DUPFD_CLOEXEC, 0);

    return fd < 0 ? -errno : fd;
}

static void on_failure(void *user, int result)
{
    break_off(user, -result);
}

int trail_sync_open(struct trail *trail, struct error *err)
{
    struct loop *loop = trail->options.loop;
    const struct group_sync_target file = {open_records, on_failure, trail};

    trail->records = (struct group_sync_wait){.done = on_records_synced, .user = trail};
    if (sync_new(loop, on_head_synced, trail, &trail->sync, err) < 0 ||
        group_sync_new(loop, &file, &trail->group, err) < 0)
        return -1;
    if (!loop)
        return 0;
    trail->timer = loop_timer(loop, on_timer, trail);
    return trail->timer ? 0 : error_memory(err);
}

/* --- the end --- */

/* Is there something that the signed head does not speak of, and will not? */
static bool is_due(const struct trail *trail)
{
    bool is_under_way = !trail->child && trail->is_round;

    return (trail->is_dirty || is_under_way) && trail->fd >= 0 && trail->key &&
           !trail->is_key_new && !trail->broken;
}

/* More than any disk needs that still works. */
#define ROUND_WAIT_MS 10000

void trail_settle(struct trail *trail, bool may_leave_child)
{
    if (!may_leave_child)
        wait_for_child(&trail->round_child, ROUND_WAIT_MS);
    else if (trail->options.is_brief && !trail->child && is_due(trail) &&
             leave_to_child(trail, &trail->child))
        trail->is_dirty = false;
}

/* Everything on the disk, and a head that says so. */
void trail_sync_close(struct trail *trail)
{
    if (!trail->options.is_brief && trail->group && trail->sync) {
        group_sync_finish(trail->group);
        sync_wait(trail->sync); /* the head */
    }
    wait_for_child(&trail->child, 0); /* they have had their time */
    wait_for_child(&trail->round_child, 0);
    if (is_due(trail)) {
        if (!trail->child && trail->options.is_brief && leave_to_child(trail, &trail->child))
            wait_for_child(&trail->child, CHILD_WAIT_MS);
        else
            sign_last(trail);
    }
    close_fd(&trail->head_fd);
    loop_watch_free(trail->timer);
    group_sync_free(trail->group);
    sync_free(trail->sync);
}
