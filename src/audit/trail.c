#include "audit/trail_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/date.h"
#include "base/file.h"

/* A lock is held for microseconds: at first it is asked for again at once, then every tenth of a
 * millisecond. Whoever holds it for two seconds has been stopped. */
#define LOCK_SPINS   50
#define LOCK_TRIES   20000
#define LOCK_WAIT_NS 100000

/* The disk is asked for so much at once. */
#define ROOM_STEP (256 * KIB)

void trail_note(const struct trail *trail, const char *fmt, ...)
{
    char text[256];
    va_list args;

    if (!trail->options.on_note)
        return;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    trail->options.on_note(trail->options.user, text);
}

/* --- the lock --- */

/* A lock of the process, not of the descriptor: one that forks does not hand it to its child, and
 * one that is killed leaves nothing locked. */
static int set_lock(const struct trail *trail, short type)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET};

    return fcntl(trail->lock, F_SETLK, &lock);
}

int trail_lock(const struct trail *trail, struct error *err)
{
    const struct timespec wait = {.tv_nsec = LOCK_WAIT_NS};

    for (int i = 0; i < LOCK_TRIES; i++) {
        if (set_lock(trail, F_WRLCK) == 0)
            return 0;
        if (errno != EAGAIN && errno != EACCES && errno != EINTR)
            return error_errno(err, "lock the trail");
        if (i < LOCK_SPINS)
            (void)sched_yield();
        else
            (void)nanosleep(&wait, NULL);
    }
    error_set(err, E_BUSY, "another process holds the trail");
    return error_hint(err, "it may have been stopped; `fuser %s/lock` names it",
                      trail->options.dir);
}

void trail_unlock(const struct trail *trail)
{
    (void)set_lock(trail, F_UNLCK);
}

/* --- adding --- */

static int no_room(const struct trail *trail, int errnum, struct error *err)
{
    errno = errnum;
    error_errno(err, "the trail cannot be written");
    if (errnum == ENOSPC || errnum == EDQUOT)
        return error_hint(err, "make room where `%s` is; nothing runs unrecorded",
                          trail->options.dir);
    return error_hint(err, "check `%s`; nothing runs unrecorded (`trail`)", trail->options.dir);
}

/* All of it, or nothing of it. */
static int write_line(struct trail *trail, struct error *err)
{
    size_t written = 0;

    while (written < trail->line.len) {
        ssize_t n = pwrite(trail->fd, trail->line.data + written, trail->line.len - written,
                           (off_t)(trail->end + written));

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            int saved = n < 0 ? errno : EIO;

            /* A line that cannot be taken back is torn, and the next writer finds it so. */
            (void)!ftruncate(trail->fd, (off_t)trail->end);
            return no_room(trail, saved, err);
        }
        written += (size_t)n;
    }
    return 0;
}

static int begin_segment(struct trail *trail, uint64_t first_seq, struct error *err)
{
    int fd = segment_open(trail->dir, first_seq, true, err);

    if (fd < 0)
        return -1;
    (void)fsync(trail->dir); /* the name, too; what cannot be synced shows with the first record */
    close_fd(&trail->fd);
    trail->fd = fd;
    trail->first_seq = first_seq;
    trail->end = trail->allocated = 0;
    trail->is_sealed = false;
    return 0;
}

static int add_line(struct trail *trail, const struct record *record, struct record_mark *ret_mark,
                    struct error *err)
{
    struct record_mark mark;
    char now[DATE_SIZE];

    date_millis_now(now);
    buf_clear(&trail->line);
    if (record_line(record, &trail->mark, now, key_mac(trail->key), &trail->line, &mark, err) < 0 ||
        write_line(trail, err) < 0)
        return -1;
    trail->end += trail->line.len;
    trail->mark = mark;
    group_sync_touch(trail->group);
    if (trail->line.size > MIB)
        buf_done(&trail->line);
    if (ret_mark)
        *ret_mark = mark;
    return 0;
}

/* The last record of a file: a signature of everything before it. */
static int seal(struct trail *trail, struct error *err)
{
    cleanup(record_done) struct record record = {0};
    char sign[KEY_BASE64_SIZE];

    if (seal_sign(&trail->mark, trail->key, sign, err) < 0)
        return -1;
    record_init(&record, "seal");
    record_word(&record, "key", key_public(trail->key)->name);
    record_base64(&record, "signature", sign);
    if (add_line(trail, &record, NULL, err) < 0)
        return -1;
    trail->is_sealed = true;
    return fdatasync(trail->fd) < 0 ? no_room(trail, errno, err) : 0;
}

/* There is no room for it in the present file. */
static bool is_full(const struct trail *trail, const struct record *record)
{
    return trail->end && trail->end + record->text.len + KIB > trail->options.file_bytes;
}

int trail_add(struct trail *trail, const struct record *record, struct record_mark *ret_mark,
              struct error *err)
{
    if (!trail->is_sealed && is_full(trail, record) && seal(trail, err) < 0)
        return -1;
    if (trail->is_sealed && begin_segment(trail, trail->mark.seq + 1, err) < 0)
        return -1;
    return add_line(trail, record, ret_mark, err);
}

/* --- what others have done --- */

/* Reads what another process has added. 1: all of it are records that follow; 0: it is not. */
static int read_more(struct trail *trail, uint64_t size, struct error *err)
{
    cleanup(segment_read_done) struct segment_reader reader = {0};
    struct record_head head;
    const char *line;
    size_t len;
    int r;

    segment_read_from(&reader, trail->fd, trail->end, size);
    while ((r = segment_next(&reader, &line, &len, err)) > 0) {
        if (!record_read(line, len, &head) || !record_is_whole(line, len, &head) ||
            memcmp(head.prev, trail->mark.hash, SHA256_BYTES) != 0)
            return 0;
        trail->mark = head.mark;
        trail->end = reader.line_at + len + 1;
        trail->is_sealed = strcmp(head.kind, "seal") == 0;
    }
    return r < 0 ? -1 : trail->end == size;
}

/* The end as it is now. */
static int refresh(struct trail *trail, struct error *err)
{
    struct record_mark known = trail->mark;
    struct stat st;
    int r = 1;

    while (r > 0) {
        if (fstat(trail->fd, &st) < 0)
            return error_errno(err, "look at the trail");
        trail->allocated = (uint64_t)st.st_blocks * 512;
        if ((uint64_t)st.st_size > trail->end && st.st_nlink)
            r = read_more(trail, (uint64_t)st.st_size, err);
        else
            r = (uint64_t)st.st_size == trail->end && st.st_nlink;
        if (r <= 0 || !trail->is_sealed)
            break;
        if (begin_segment(trail, trail->mark.seq + 1, err) < 0)
            return -1;
    }
    return r ? r : trail_locate(trail, &known, err);
}

/* Room on the disk for the line and for the ends of what has begun. */
static int reserve(struct trail *trail, size_t len, enum trail_part part, struct error *err)
{
    uint64_t need = trail->end + len + KIB;

    need += (uint64_t)(trail->n_open + (part == TRAIL_START)) * TRAIL_ROOM;
    if (part == TRAIL_END || trail->allocated >= need)
        return 0;
    if (fallocate(trail->fd, FALLOC_FL_KEEP_SIZE, (off_t)trail->end,
                  (off_t)(need - trail->end + ROOM_STEP)) == 0 ||
        errno == EOPNOTSUPP || errno == ENOSYS || errno == EINTR)
        return 0;
    if (errno == ENOSPC && fallocate(trail->fd, FALLOC_FL_KEEP_SIZE, (off_t)trail->end,
                                     (off_t)(need - trail->end)) == 0)
        return 0;
    return no_room(trail, errno, err);
}

uint64_t trail_file(const struct trail *trail)
{
    return trail->first_seq;
}

/* The record that it refers to is not in the file that it would go to. */
static bool misses_file(const struct trail *trail, const struct record *record)
{
    return record->needs_file &&
           (record->needs_file != trail->first_seq || trail->is_sealed || is_full(trail, record));
}

int trail_append(struct trail *trail, const struct record *record, enum trail_part part,
                 struct record_mark *ret_mark, struct error *err)
{
    uint64_t first_seq;
    int r;

    if (trail->broken)
        return no_room(trail, trail->broken, err);
    if (trail_lock(trail, err) < 0)
        return -1;
    first_seq = trail->first_seq;
    r = refresh(trail, err) < 0 ? -1 : 0;
    if (r == 0 && misses_file(trail, record)) {
        trail_unlock(trail);
        return 1;
    }
    if (r == 0)
        r = reserve(trail, record->text.len, part, err) < 0
                ? -1
                : trail_add(trail, record, ret_mark, err);
    if (r == 0 && trail->first_seq != first_seq)
        trail_prune(trail);
    trail_unlock(trail);
    if (part == TRAIL_START)
        trail->n_open += r == 0;
    else if (part == TRAIL_END && trail->n_open)
        trail->n_open--;
    if (r == 0)
        trail_sync_soon(trail);
    if (r == 0 && trail->options.patience == TRAIL_AT_ONCE && part != TRAIL_START)
        r = trail_sync_now(trail, err);
    return r;
}

struct group_sync *trail_group(const struct trail *trail)
{
    return trail->group;
}

const struct key_pair *trail_key(const struct trail *trail)
{
    return trail->key;
}

/* --- opening and closing --- */

void trail_key_name(const char *dir, char name[TRAIL_KEY_SIZE])
{
    char hex[2 * SHA256_BYTES + 1];
    uint8_t digest[SHA256_BYTES];

    sha256(dir, strlen(dir), digest);
    sha256_to_hex(digest, hex);
    if (*dir)
        (void)snprintf(name, TRAIL_KEY_SIZE, "trail-key-%.16s.pem", hex);
    else
        (void)snprintf(name, TRAIL_KEY_SIZE, TRAIL_KEY_NAME);
}

static int open_private(const char *path, struct error *err)
{
    cleanup_close int fd = -1;
    struct stat st;

    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return error_errno(err, "make `%s`", path);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return error_errno(err, "open `%s`", path);
    if (st.st_uid != geteuid() || st.st_mode & 022) {
        error_set(err, E_DENIED, "`%s` is not a directory that you alone can write to", path);
        return error_hint(err, "make it yours: chown and chmod 700");
    }
    return take_fd(fd);
}

/* The first record, or that there is another key from here on. The key comes last: a trail without
 * one and with nothing but its first record was never used, and is begun anew. */
static int tell_key(struct trail *trail, int key_dir, struct error *err)
{
    cleanup(record_done) struct record record = {0};

    record_init(&record, trail->mark.seq ? "key" : "begin");
    record_word(&record, "key", key_public(trail->key)->name);
    record_word(&record, "version", BELLJAR_VERSION);
    if (trail_add(trail, &record, NULL, err) < 0 || trail_sign_now(trail, err) < 0)
        return -1;
    trail->is_key_new = false;
    return key_save(trail->key, key_dir, trail->options.key_name, err);
}

static int start(struct trail *trail, struct error *err)
{
    cleanup_close int key_dir = open_private(trail->options.key_dir, err);
    int r;

    if (key_dir < 0 || trail_lock(trail, err) < 0)
        return -1;
    r = key_open(key_dir, trail->options.key_name, &trail->key, &trail->is_key_new, err);
    if (r == 0)
        r = trail_locate(trail, &(struct record_mark){0}, err);
    if (r == 0 && trail->is_key_new)
        r = tell_key(trail, key_dir, err);
    if (r == 0)
        trail_prune(trail);
    trail_sync_tidy(trail);
    trail_unlock(trail);
    return r;
}

int trail_open(const struct trail_options *options, struct trail **ret_trail, struct error *err)
{
    struct trail *trail = calloc(1, sizeof(*trail));

    if (!trail)
        return error_memory(err);
    *trail = (struct trail){.options = *options, .lock = -1, .fd = -1, .head_fd = -1};
    trail->options.dir = strdup(options->dir);
    if (!trail->options.key_name)
        trail->options.key_name = TRAIL_KEY_NAME;
    buf_init(&trail->line, RECORD_BYTES);
    trail->dir = open_private(options->dir, err);
    if (trail->dir >= 0)
        trail->lock = openat(trail->dir, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (trail->dir >= 0 && trail->lock < 0)
        error_errno(err, "open the lock of the trail");
    if (!trail->options.dir || trail->lock < 0 || trail_sync_open(trail, err) < 0 ||
        start(trail, err) < 0) {
        trail_close(trail);
        return -1;
    }
    trail->options.key_dir = trail->options.key_name = NULL; /* the caller's */
    if (trail->is_dirty)
        trail_sync_soon(trail);
    *ret_trail = trail;
    return 0;
}

void trail_close(struct trail *trail)
{
    if (!trail)
        return;
    trail_sync_close(trail);
    key_free(trail->key);
    buf_done(&trail->line);
    close_fd(&trail->fd);
    close_fd(&trail->lock);
    close_fd(&trail->dir);
    free((char *)trail->options.dir);
    free(trail);
}
