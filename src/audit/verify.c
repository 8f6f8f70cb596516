#include "audit/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "audit/segment.h"
#include "base/cleanup.h"

/* Records between two reports of progress in one file. */
#define PROGRESS_RECORDS 2048

/* The trail as it was at one moment: a process that writes meanwhile is not in the way. */
struct snapshot {
    uint64_t *files;
    size_t count;
    uint64_t last_size;
    struct signed_head head;
    struct error head_error;
};

struct verify {
    const struct verify_options *options;
    struct verify_result result;
    struct snapshot at;
    int dir;
    uint64_t total_bytes;

    /* --- where we are --- */
    char file[SEGMENT_NAME_SIZE];
    uint64_t line;
    uint64_t seq; /* of the record before */
    uint8_t hash[SHA256_BYTES];
    bool is_lost;   /* a line was unreadable: what follows cannot be held against it */
    bool is_sealed; /* the last record was a seal */
    bool is_head_seen, is_against_seen;

    /* --- a trail without its beginning --- */
    uint64_t begins_seq; /* of its first record; 0: it is the first of all */
    uint8_t begins_behind[SHA256_BYTES];
    uint64_t
        pruned_to; /* with which record it began after the last removal that was told; 0: none */
    char pruned_at[DATE_SIZE]; /* when its older files were removed by who has the key; "": never */
};

__attribute__((format(printf, 3, 4))) static void report(struct verify *v, bool is_problem,
                                                         const char *fmt, ...)
{
    char text[512];
    va_list args;

    v->result.problems += is_problem;
    if (!v->options->on_finding)
        return;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    v->options->on_finding(v->options->user, is_problem, text);
}

#define PROBLEM(v, fmt, ...)                                                                       \
    report(v, true, "%s:%" PRIu64 ": " fmt, (v)->file, (v)->line, __VA_ARGS__)

/* --- a moment --- */

static void snapshot_done(struct snapshot *at)
{
    free(at->files);
    error_done(&at->head_error);
}

/* Waits until a writer has finished its line. A process that may only read does without. */
static int lock(int dir)
{
    const struct timespec wait = {.tv_nsec = 1000000};
    struct flock region = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    int fd = openat(dir, "lock", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    for (int i = 0; fd >= 0 && i < 1000 && fcntl(fd, F_SETLK, &region) < 0; i++)
        (void)nanosleep(&wait, NULL);
    return fd;
}

static int take_snapshot(struct verify *v, struct error *err)
{
    __attribute__((unused)) cleanup_close int held = lock(v->dir);
    cleanup_close int fd = -1;
    struct snapshot *at = &v->at;
    struct stat st;

    if (segment_list(v->dir, &at->files, &at->count, err) < 0)
        return -1;
    (void)signed_head_read(v->dir, &at->head, &at->head_error);
    if (!at->count)
        return 0;
    fd = segment_open(v->dir, at->files[at->count - 1], false, err);
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) < 0)
        return error_errno(err, "look at the trail");
    at->last_size = (uint64_t)st.st_size;
    return 0;
}

/* --- signatures --- */

static const struct key_public *find_key(const struct verify *v, const char *name)
{
    for (size_t i = 0; i < v->options->n_keys; i++)
        if (strcmp(v->options->keys[i].name, name) == 0)
            return &v->options->keys[i];
    return NULL;
}

/* A seal speaks of the record before it. */
static void check_seal(struct verify *v, const char *line, size_t len,
                       const struct record_mark *before)
{
    json_t *object = record_load(line, len);
    const char *name = json_string_value(json_object_get(object, "key"));
    const char *sign = json_string_value(json_object_get(object, "signature"));
    const struct key_public *key = name ? find_key(v, name) : NULL;

    if (!name || !sign)
        PROBLEM(v, "record %" PRIu64 " is a seal without a signature", before->seq + 1);
    else if (!key)
        PROBLEM(v, "record %" PRIu64 " was sealed with another key, %.16s…", before->seq + 1, name);
    else if (seal_check(before, key, sign, NULL) < 0)
        PROBLEM(v, "the seal in record %" PRIu64 " is invalid", before->seq + 1);
    json_decref(object);
}

static void check_head(struct verify *v)
{
    const struct signed_head *head = &v->at.head;
    const struct key_public *key;

    if (v->at.head_error.code != E_NONE) {
        report(v, true, SIGNED_HEAD_NAME ": %s", v->at.head_error.message);
        return;
    }
    key = find_key(v, head->key);
    if (!key)
        report(v, true, SIGNED_HEAD_NAME ": it was signed with another key, %.16s…", head->key);
    else if (signed_head_check(head, key, NULL) < 0)
        report(v, true, SIGNED_HEAD_NAME ": the signature is invalid");
    else if (head->mark.seq > v->seq)
        report(v, true,
               "the end was cut off: %" PRIu64 " records were signed for at %s, and the last one "
               "here is %" PRIu64,
               head->mark.seq, head->mark.time, v->seq);
    else if (!v->is_head_seen)
        report(v, true,
               "record %" PRIu64
               " is not the one that was signed for at %s: the trail was rewritten",
               head->mark.seq, head->mark.time);
    else
        v->result.n_unsigned = v->seq - head->mark.seq;
}

static void check_against(struct verify *v)
{
    const struct record_mark *against = &v->options->against;

    if (against->seq && against->seq < v->begins_seq && *v->pruned_at)
        report(v, true,
               "record %" PRIu64
               ", which is known from elsewhere, was removed and cannot be compared",
               against->seq);
    else if (against->seq && !v->is_against_seen)
        report(v, true, "record %" PRIu64 " is not the one that is known from elsewhere",
               against->seq);
}

/* --- a trail whose older files were removed --- */

/* The hash that the first record claims to follow is accepted until the end: then a record of the
 * removal must have named the same hash. */
static void begin_behind(struct verify *v, const struct record_head *head)
{
    v->begins_seq = head->mark.seq;
    memcpy(v->begins_behind, head->prev, SHA256_BYTES);
    v->seq = head->mark.seq - 1;
    memcpy(v->hash, head->prev, SHA256_BYTES);
}

static void note_pruned(struct verify *v, const char *line, size_t len,
                        const struct record_head *head)
{
    json_t *object = record_load(line, len);
    uint64_t first = (uint64_t)json_integer_value(json_object_get(object, "first_seq"));
    uint64_t begins = (uint64_t)json_integer_value(json_object_get(object, "begins_seq"));
    const char *hex = json_string_value(json_object_get(object, "begins_behind"));
    uint8_t hash[SHA256_BYTES];

    if (v->pruned_to && first > v->pruned_to)
        PROBLEM(v,
                "records %" PRIu64 " to %" PRIu64 " were missing before older files were removed",
                v->pruned_to, first - 1);
    v->pruned_to = begins;
    if (v->begins_seq && begins == v->begins_seq && hex && sha256_from_hex(hex, hash) == 0 &&
        memcmp(hash, v->begins_behind, SHA256_BYTES) == 0)
        memcpy(v->pruned_at, head->mark.time, sizeof(v->pruned_at));
    json_decref(object);
}

static void check_beginning(struct verify *v)
{
    if (!v->begins_seq)
        return;
    if (*v->pruned_at)
        report(v, false,
               "it begins with record %" PRIu64 ": those before were removed on purpose, at %s",
               v->begins_seq, v->pruned_at);
    else
        report(v, true,
               "records 1 to %" PRIu64 " are missing, and no record mentions their removal",
               v->begins_seq - 1);
}

/* --- records --- */

static void check_order(struct verify *v, const struct record_head *head)
{
    uint64_t seq = head->mark.seq;
    bool is_gap = strcmp(head->kind, "gap") == 0;

    if (v->is_lost && seq > v->seq)
        return;
    if (seq <= v->seq)
        PROBLEM(v, "record %" PRIu64 " stands behind record %" PRIu64, seq, v->seq);
    else if (seq > v->seq + 1)
        PROBLEM(v, "records %" PRIu64 " to %" PRIu64 " are missing%s%s", v->seq + 1, seq - 1,
                is_gap ? ", which was noticed at " : "", is_gap ? head->mark.time : "");
    else if (memcmp(head->prev, v->hash, SHA256_BYTES) != 0)
        PROBLEM(v, "record %" PRIu64 " does not follow from the record before it", seq);
    else if (is_gap)
        PROBLEM(v, "before record %" PRIu64 " the trail was not whole, which was noticed at %s",
                seq, head->mark.time);
}

static void check_record(struct verify *v, const char *line, size_t len)
{
    struct record_mark before = {0};
    struct record_head head;

    if (!record_read(line, len, &head)) {
        PROBLEM(v, "is not a record (%zu bytes)", len);
        v->is_lost = true;
        return;
    }
    /* Behind a gap the numbers go on where they had been. */
    if (v->line == 1 && head.mark.seq != v->at.files[v->result.files] &&
        strcmp(head.kind, "gap") != 0)
        PROBLEM(v, "the file begins with record %" PRIu64, head.mark.seq);
    if (v->result.records == 0 && head.mark.seq > 1 && head.mark.seq == v->at.files[0] &&
        strcmp(head.kind, "gap") != 0)
        begin_behind(v, &head);
    if (!record_is_whole(line, len, &head))
        PROBLEM(v, "record %" PRIu64 " was changed", head.mark.seq);
    else if (v->options->secret && !record_is_ours(line, len, &head, v->options->secret))
        PROBLEM(v, "record %" PRIu64 " was not written by the owner of the key", head.mark.seq);
    check_order(v, &head);
    before.seq = v->seq;
    v->is_sealed = strcmp(head.kind, "seal") == 0;
    memcpy(before.hash, v->hash, SHA256_BYTES);
    memcpy(before.time, v->result.last.time, sizeof(before.time));
    if (v->is_sealed)
        check_seal(v, line, len, &before);
    else if (strcmp(head.kind, "repair") == 0)
        report(v, false, "%s:%" PRIu64 ": a torn end was repaired at %s", v->file, v->line,
               head.mark.time);
    else if (strcmp(head.kind, "pruned") == 0)
        note_pruned(v, line, len, &head);
    v->is_lost = false;
    v->seq = head.mark.seq;
    memcpy(v->hash, head.mark.hash, SHA256_BYTES);
    v->result.last = head.mark;
    v->is_head_seen |=
        v->seq == v->at.head.mark.seq && memcmp(v->hash, v->at.head.mark.hash, SHA256_BYTES) == 0;
    v->is_against_seen |= v->seq == v->options->against.seq &&
                          memcmp(v->hash, v->options->against.hash, SHA256_BYTES) == 0;
}

static uint64_t size_of_all(const struct verify *v)
{
    uint64_t total = v->at.last_size;
    char name[SEGMENT_NAME_SIZE];
    struct stat st;

    for (size_t i = 0; i + 1 < v->at.count; i++) {
        segment_name(v->at.files[i], name);
        if (fstatat(v->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            total += (uint64_t)st.st_size;
    }
    return total;
}

static void tell_progress(const struct verify *v, uint64_t bytes)
{
    const struct verify_progress progress = {
        .records = v->result.records,
        .bytes = v->result.bytes + bytes,
        .total_bytes = v->total_bytes,
        .files = v->result.files,
        .total_files = v->at.count,
    };

    if (v->options->on_progress)
        v->options->on_progress(v->options->user, &progress);
}

static int check_file(struct verify *v, size_t index, struct error *err)
{
    bool is_last = index + 1 == v->at.count;
    cleanup_close int fd = segment_open(v->dir, v->at.files[index], false, err);
    cleanup(segment_read_done) struct segment_reader reader = {0};
    const char *line;
    struct stat st;
    uint64_t size;
    size_t len;
    int r;

    if (fd < 0)
        return -1;
    if (fstat(fd, &st) < 0)
        return error_errno(err, "look at the trail");
    size = is_last ? v->at.last_size : (uint64_t)st.st_size;
    segment_name(v->at.files[index], v->file);
    v->line = 0;
    segment_read_from(&reader, fd, 0, size);
    while ((r = segment_next(&reader, &line, &len, err)) > 0) {
        v->line++;
        check_record(v, line, len);
        if (++v->result.records % PROGRESS_RECORDS == 0)
            tell_progress(v, reader.line_at);
    }
    if (r < 0 && err->code != E_TOO_LARGE)
        return -1;
    if (r < 0)
        error_done(err); /* a line without an end */
    v->result.bytes += size;
    v->line++;
    if (reader.offset < size) {
        PROBLEM(v, "the end is torn: %" PRIu64 " bytes are not a record%s", size - reader.offset,
                is_last ? "; the next writer moves them aside" : "");
        v->is_lost = true;
    }
    if (!is_last && !v->is_sealed)
        PROBLEM(v, "the file ends without a seal, and %s", "another follows");
    return 0;
}

static void conclude(struct verify *v)
{
    check_beginning(v);
    check_head(v);
    check_against(v);
}

struct verify *verify_lines_new(const struct verify_options *options,
                                const struct signed_head *head)
{
    struct verify *v = calloc(1, sizeof(*v));

    if (v)
        v->at.files = calloc(1, sizeof(*v->at.files));
    if (!v || !v->at.files) {
        free(v);
        return NULL;
    }
    v->options = options;
    v->at.count = 1;
    v->at.head = *head;
    (void)snprintf(v->file, sizeof(v->file), "line");
    return v;
}

/* All of it is one file, which begins with whatever comes first. */
void verify_line(struct verify *v, const char *line, size_t len)
{
    struct record_head head;

    if (v->line++ == 0 && record_read(line, len, &head))
        v->at.files[0] = head.mark.seq;
    check_record(v, line, len);
    v->result.records++;
    v->result.bytes += len + 1;
}

void verify_lines_end(struct verify *v, struct verify_result *ret_result)
{
    v->result.files = v->result.records > 0;
    conclude(v);
    *ret_result = v->result;
    snapshot_done(&v->at);
    free(v);
}

int verify_trail(const char *dir, const struct verify_options *options,
                 struct verify_result *ret_result, struct error *err)
{
    cleanup_close int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct verify v = {.options = options, .dir = fd};
    int r = 0;

    if (fd < 0) {
        error_errno(err, "open `%s`", dir);
        if (err)
            err->code = E_NOT_FOUND;
        return -1;
    }
    r = take_snapshot(&v, err);
    v.total_bytes = r == 0 && options->on_progress ? size_of_all(&v) : 0;
    for (size_t i = 0; r == 0 && i < v.at.count; i++) {
        r = check_file(&v, i, err);
        v.result.files++;
        tell_progress(&v, 0);
    }
    if (r == 0) {
        conclude(&v);
        *ret_result = v.result;
    }
    snapshot_done(&v.at);
    return r;
}
