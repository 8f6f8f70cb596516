/* Repairs the end of a trail. Nothing is ever removed: torn bytes are moved aside, and missing
 * records are recorded. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/trail_internal.h"
#include "base/cleanup.h"
#include "base/file.h"

/* The findings. */
struct state {
    bool is_foreign;     /* the last record was not written by the owner of the key */
    uint64_t size;       /* of the newest file */
    uint64_t torn_bytes; /* behind the last record; they have been set aside */
    uint8_t torn_hash[SHA256_BYTES];
    char torn_name[48];
};

/* --- torn bytes --- */

/* From the end on, into another file. */
static int copy_torn(const struct trail *trail, uint64_t size, int to, struct state *state,
                     struct error *err)
{
    struct sha256_stream *hash = sha256_begin();
    char data[64 * KIB];
    int r = hash ? 0 : error_memory(err);

    for (uint64_t at = trail->end; r == 0 && at < size;) {
        ssize_t n = pread(trail->fd, data, sizeof(data), (off_t)at);

        if (n <= 0 || file_write_all(to, data, (size_t)n) < 0)
            r = error_errno(err, "move the torn end of the trail aside");
        if (n > 0)
            sha256_feed(hash, data, (size_t)n);
        at += n > 0 ? (uint64_t)n : 0;
    }
    sha256_end(hash, state->torn_hash);
    state->torn_bytes = size - trail->end;
    return r;
}

static int set_aside(struct trail *trail, uint64_t size, struct state *state, struct error *err)
{
    cleanup_close int fd = -1;

    (void)snprintf(state->torn_name, sizeof(state->torn_name), "torn-%016" PRIu64 "-%" PRIu64,
                   trail->mark.seq, trail->end);
    fd = openat(trail->dir, state->torn_name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
                0600);
    if (fd < 0)
        return error_errno(err, "move the torn end of the trail aside");
    if (copy_torn(trail, size, fd, state, err) < 0)
        return -1;
    if (fdatasync(fd) < 0 || ftruncate(trail->fd, (off_t)trail->end) < 0 ||
        fdatasync(trail->fd) < 0)
        return error_errno(err, "repair the end of the trail");
    return 0;
}

static int tell_torn(struct trail *trail, const struct state *state, struct error *err)
{
    cleanup(record_done) struct record record = {0};

    if (!state->torn_bytes)
        return 0;
    record_init(&record, "repair");
    record_number(&record, "bytes", state->torn_bytes);
    record_digest(&record, "sha256", state->torn_hash);
    record_word(&record, "file", state->torn_name);
    trail->is_dirty = true;
    if (trail_add(trail, &record, NULL, err) < 0)
        return -1;
    trail_note(trail,
               "the end of the trail was torn; %" PRIu64
               " bytes were moved to %s/%s, as recorded in record %" PRIu64 " says",
               state->torn_bytes, trail->options.dir, state->torn_name, trail->mark.seq);
    return 0;
}

/* --- where it ends --- */

/* The last record of a file. 0: it has none. */
static int last_of(struct trail *trail, uint64_t first_seq, struct state *state, struct error *err)
{
    cleanup_close int fd = segment_open(trail->dir, first_seq, true, err);
    struct segment_last last;
    struct stat st;

    if (fd < 0)
        return -1;
    if (fstat(fd, &st) < 0)
        return error_errno(err, "look at the trail");
    if (segment_find_last(fd, (uint64_t)st.st_size, key_mac(trail->key), &last, err) < 0)
        return -1;
    if (last.end) {
        trail->mark = last.head.mark;
        state->is_foreign = !last.is_ours;
    }
    if (trail->fd < 0) { /* the newest */
        trail->fd = take_fd(fd);
        trail->first_seq = first_seq;
        trail->end = last.end;
        trail->allocated = (uint64_t)st.st_blocks * 512;
        trail->is_sealed = strcmp(last.head.kind, "seal") == 0;
        state->size = (uint64_t)st.st_size;
    }
    return last.end > 0;
}

/* The newest file is where we write; where there is no record in it yet, the chain goes on from an
 * older one. */
static int find_end(struct trail *trail, struct state *state, struct error *err)
{
    cleanup_free uint64_t *list = NULL;
    size_t count = 0;
    int r = 0;

    if (segment_list(trail->dir, &list, &count, err) < 0)
        return -1;
    close_fd(&trail->fd);
    trail->mark = (struct record_mark){0};
    for (size_t i = count; i > 0 && r == 0; i--)
        r = last_of(trail, list[i - 1], state, err);
    if (count == 0)
        r = last_of(trail, 1, state, err);
    return r < 0 ? -1 : 0;
}

/* A trail that was never used: its key did not come to be. */
static bool is_unborn(const struct trail *trail)
{
    return trail->is_key_new && trail->mark.seq <= 1 && trail->first_seq == 1;
}

static int begin_anew(struct trail *trail, struct error *err)
{
    trail->mark = (struct record_mark){0};
    trail->end = 0;
    trail->is_sealed = false;
    (void)unlinkat(trail->dir, SIGNED_HEAD_NAME, 0);
    return ftruncate(trail->fd, 0) < 0 ? error_errno(err, "begin the trail") : 0;
}

/* --- what is missing --- */

/* `known` was there once. The numbers go on behind it, so that none is given twice. */
static int tell_gap(struct trail *trail, const char *reason, const struct record_mark *known,
                    struct error *err)
{
    const struct record_mark expected = *known; /* which may be the mark that changes below */
    cleanup(record_done) struct record record = {0};
    uint64_t last = trail->mark.seq;

    record_init(&record, "gap");
    record_word(&record, "reason", reason);
    record_number(&record, "last_seq", last);
    record_number(&record, "expected_seq", expected.seq);
    record_digest(&record, "expected_hash", expected.hash);
    trail->is_dirty = true;
    if (expected.seq > trail->mark.seq)
        trail->mark.seq = expected.seq;
    if (trail_add(trail, &record, NULL, err) < 0) {
        trail->mark.seq = last;
        return -1;
    }
    trail_note(trail,
               "the trail is not whole (%s): it ended with record %" PRIu64 " where %" PRIu64
               " were known; `belljar audit verify` says more",
               reason, last, expected.seq);
    return 0;
}

static int compare_head(struct trail *trail, const struct state *state, struct error *err)
{
    cleanup_error struct error why = {0};
    struct signed_head head = {0};
    int r = signed_head_read(trail->dir, &head, &why);

    /* One that is not ours says nothing: not how many records there were, either. */
    if (r == 0)
        r = signed_head_check(&head, key_public(trail->key), &why);
    if (r < 0)
        return tell_gap(trail, why.code == E_NOT_FOUND ? "head_missing" : "head_damaged",
                        &trail->mark, err);
    if (head.mark.seq > trail->mark.seq)
        return tell_gap(trail, "cut", &head.mark, err);
    if (head.mark.seq == trail->mark.seq &&
        memcmp(head.mark.hash, trail->mark.hash, SHA256_BYTES) != 0)
        return tell_gap(trail, "changed", &head.mark, err);
    return state->is_foreign ? tell_gap(trail, "foreign", &head.mark, err) : 0;
}

/* The records that this process wrote itself. */
static int compare_known(struct trail *trail, const struct record_mark *known, struct error *err)
{
    if (known->seq > trail->mark.seq)
        return tell_gap(trail, "cut", known, err);
    if (known->seq == trail->mark.seq && memcmp(known->hash, trail->mark.hash, SHA256_BYTES) != 0)
        return tell_gap(trail, "changed", known, err);
    return 0;
}

int trail_locate(struct trail *trail, const struct record_mark *known, struct error *err)
{
    struct state state = {0};
    struct signed_head head = {0};

    if (find_end(trail, &state, err) < 0)
        return -1;
    if (is_unborn(trail))
        return begin_anew(trail, err);
    if (state.size > trail->end && set_aside(trail, state.size, &state, err) < 0)
        return -1;
    /* The stronger recorder of the two. */
    if (known->seq &&
        (signed_head_read(trail->dir, &head, NULL) < 0 || head.mark.seq < known->seq ||
         signed_head_check(&head, key_public(trail->key), NULL) < 0)) {
        if (compare_known(trail, known, err) < 0)
            return -1;
    } else if (compare_head(trail, &state, err) < 0) {
        return -1;
    }
    return tell_torn(trail, &state, err);
}
