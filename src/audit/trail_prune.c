/* Old files go, where the operator wants them to: whole ones, from the oldest on, never the one
 * that is written to. That one goes is written down before it does, with the place in the chain at
 * which the trail begins from then on, so that who verifies can tell it from a file somebody else
 * took. One record for each file: wherever this ends, what is left begins at a place that is told.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "audit/trail_internal.h"
#include "base/cleanup.h"

/* The two oldest files, and all of them together. */
struct oldest {
    uint64_t first, next;
    struct record_head head; /* of the first record of the next one */
    uint64_t bytes, all_bytes;
};

static uint64_t size_of(const struct trail *trail, uint64_t first_seq)
{
    char name[SEGMENT_NAME_SIZE];
    struct stat st;

    segment_name(first_seq, name);
    return fstatat(trail->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? (uint64_t)st.st_size : 0;
}

/* False: it is not as it should be, and nothing that could tell why is removed. */
static bool read_first(const struct trail *trail, struct oldest *oldest)
{
    cleanup_close int fd = segment_open(trail->dir, oldest->next, false, NULL);
    cleanup(segment_read_done) struct segment_reader reader = {0};
    const char *line;
    size_t len;

    if (fd < 0)
        return false;
    segment_read_from(&reader, fd, 0, size_of(trail, oldest->next));
    return segment_next(&reader, &line, &len, NULL) > 0 && record_read(line, len, &oldest->head) &&
           oldest->head.mark.seq == oldest->next && record_is_whole(line, len, &oldest->head) &&
           record_is_ours(line, len, &oldest->head, key_mac(trail->key));
}

/* 1: there are two or more; 0: there are not. */
static int look(const struct trail *trail, struct oldest *ret_oldest, struct error *err)
{
    cleanup_free uint64_t *list = NULL;
    size_t count = 0;
    struct oldest oldest = {0};

    if (segment_list(trail->dir, &list, &count, err) < 0)
        return -1;
    if (count < 2)
        return 0;
    for (size_t i = 0; i < count; i++)
        oldest.all_bytes += size_of(trail, list[i]);
    oldest.first = list[0];
    oldest.next = list[1];
    oldest.bytes = size_of(trail, oldest.first);
    *ret_oldest = oldest;
    return read_first(trail, ret_oldest);
}

/* Everything in a file is older than what the next one begins with. NULL: it stays. */
static const char *why_it_goes(const struct trail *trail, const struct oldest *oldest)
{
    char since[DATE_SIZE];

    if (trail->options.max_bytes && oldest->all_bytes > trail->options.max_bytes)
        return "size";
    if (!trail->options.max_days)
        return NULL;
    date_seconds(time(NULL) - (time_t)trail->options.max_days * 24 * 60 * 60, since);
    return strcmp(oldest->head.mark.time, since) < 0 ? "age" : NULL;
}

static int remove_oldest(struct trail *trail, const struct oldest *oldest, const char *why,
                         struct error *err)
{
    cleanup(record_done) struct record record = {0};
    char name[SEGMENT_NAME_SIZE];

    record_init(&record, "pruned");
    record_word(&record, "reason", why);
    record_number(&record, "first_seq", oldest->first);
    record_number(&record, "begins_seq", oldest->next);
    record_digest(&record, "begins_behind", oldest->head.prev);
    record_number(&record, "bytes", oldest->bytes);
    trail->is_dirty = true;
    if (trail_add(trail, &record, NULL, err) < 0)
        return -1;
    if (fdatasync(trail->fd) < 0)
        return error_errno(err, "record that a file of the trail is deleted");
    segment_name(oldest->first, name);
    if (unlinkat(trail->dir, name, 0) < 0)
        return error_errno(err, "remove %s of the trail", name);
    return 0;
}

void trail_prune(struct trail *trail)
{
    cleanup_error struct error err = {0};
    struct oldest oldest;
    const char *why;
    int r = 1;

    if (!trail->options.max_bytes && !trail->options.max_days)
        return;
    while (r > 0) {
        r = look(trail, &oldest, &err);
        why = r > 0 ? why_it_goes(trail, &oldest) : NULL;
        if (!why)
            break;
        r = remove_oldest(trail, &oldest, why, &err) < 0 ? -1 : 1;
    }
    if (r < 0)
        trail_note(trail, "old files of the trail were not deleted: %s", err.message);
}
