#include "audit/segment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"

#define DIGITS 16
#define PIECE  (256 * KIB)

/* Most records are shorter, and the last one is what every start looks for. */
#define LAST_PIECE (16 * KIB)

void segment_name(uint64_t first_seq, char name[SEGMENT_NAME_SIZE])
{
    (void)snprintf(name, SEGMENT_NAME_SIZE, "%016" PRIu64 ".jsonl", first_seq);
}

static bool parse_name(const char *name, uint64_t *ret_seq)
{
    *ret_seq = 0;
    for (int i = 0; i < DIGITS; i++) {
        if (name[i] < '0' || name[i] > '9')
            return false;
        *ret_seq = *ret_seq * 10 + (uint64_t)(name[i] - '0');
    }
    return *ret_seq > 0 && strcmp(name + DIGITS, ".jsonl") == 0;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

int segment_list(int dirfd, uint64_t **ret_list, size_t *ret_count, struct error *err)
{
    cleanup_closedir DIR *dir = file_open_dir(dirfd, ".");
    cleanup_free uint64_t *list = NULL;
    size_t count = 0, size = 0;
    struct dirent *entry;
    uint64_t seq;

    if (!dir)
        return error_errno(err, "list the trail");
    while ((entry = readdir(dir))) {
        if (!parse_name(entry->d_name, &seq))
            continue;
        if (count == size) {
            uint64_t *grown = reallocarray(list, size + 64, sizeof(*list));

            if (!grown)
                return error_memory(err);
            list = grown;
            size += 64;
        }
        list[count++] = seq;
    }
    if (count)
        qsort(list, count, sizeof(*list), compare);
    *ret_list = take_ptr(list);
    *ret_count = count;
    return 0;
}

/* Something of that name that is not a file would block the process that opens it. */
int segment_open(int dirfd, uint64_t first_seq, bool is_ours, struct error *err)
{
    cleanup_close int fd = -1;
    char name[SEGMENT_NAME_SIZE];
    struct stat st;

    segment_name(first_seq, name);
    fd =
        openat(dirfd, name,
               (is_ours ? O_RDWR | O_CREAT : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd < 0 || fstat(fd, &st) < 0)
        return error_errno(err, "open `%s` of the trail", name);
    if (!S_ISREG(st.st_mode))
        return error_set(err, E_INVALID, "`%s` in the trail is not a file", name);
    return take_fd(fd);
}

/* --- forwards --- */

void segment_read_from(struct segment_reader *reader, int fd, uint64_t offset, uint64_t end)
{
    *reader = (struct segment_reader){.fd = fd, .offset = offset, .end = end};
    buf_init(&reader->text, RECORD_BYTES);
}

void segment_read_done(struct segment_reader *reader)
{
    buf_done(&reader->text);
}

/* 1: there is more text; 0: there is none. */
static int fill(struct segment_reader *reader, struct error *err)
{
    uint64_t at = reader->offset + reader->text.len;
    size_t want = reader->end > at && reader->end - at < PIECE ? (size_t)(reader->end - at) : PIECE;
    ssize_t n;

    if (at >= reader->end)
        return 0;
    if (buf_reserve(&reader->text, want, err) < 0)
        return -1;
    do
        n = pread(reader->fd, reader->text.data + reader->text.len, want, (off_t)at);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return error_errno(err, "read the trail");
    reader->text.len += (size_t)n;
    return n > 0;
}

int segment_next(struct segment_reader *reader, const char **ret_line, size_t *ret_len,
                 struct error *err)
{
    size_t looked = 0;

    /* The buffer is emptied when all of it was read: moving the rest each time would take quadratic
     * time. */
    for (;;) {
        const char *line = buf_str(&reader->text) + reader->used;
        size_t len = reader->text.len - reader->used;
        const char *newline = len > looked ? memchr(line + looked, '\n', len - looked) : NULL;
        int r;

        if (newline) {
            *ret_line = line;
            *ret_len = (size_t)(newline - line);
            reader->line_at = reader->offset + reader->used;
            reader->used += *ret_len + 1;
            return 1;
        }
        looked = len;
        buf_consume(&reader->text, reader->used);
        reader->offset += reader->used;
        reader->used = 0;
        r = fill(reader, err);
        if (r <= 0)
            return r;
    }
}

/* --- backwards --- */

static int read_back(int fd, uint64_t from, uint64_t to, struct buf *out, struct error *err)
{
    size_t want = (size_t)(to - from);

    buf_clear(out);
    if (buf_reserve(out, want, err) < 0)
        return -1;
    while (out->len < want) {
        ssize_t n = pread(fd, out->data + out->len, want - out->len, (off_t)(from + out->len));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_errno(err, "read the trail");
        if (n == 0)
            return error_set(err, E_SYSTEM, "the trail was cut while it was read");
        out->len += (size_t)n;
    }
    return 0;
}

/* The last whole record of the text, of which a beginning may be missing. */
static bool find_in(const struct buf *text, bool is_begin, const uint8_t secret[SHA256_BYTES],
                    struct segment_last *ret_last)
{
    const char *end = memrchr(text->data, '\n', text->len);

    while (end) {
        size_t before = (size_t)(end - text->data);
        const char *start = before ? memrchr(text->data, '\n', before) : NULL;
        const char *line = start ? start + 1 : text->data;
        size_t len = (size_t)(end - line);

        if ((start || is_begin) && record_read(line, len, &ret_last->head) &&
            record_is_whole(line, len, &ret_last->head)) {
            ret_last->end = before + 1;
            ret_last->is_ours = record_is_ours(line, len, &ret_last->head, secret);
            return true;
        }
        end = start;
    }
    return false;
}

int segment_find_last(int fd, uint64_t end, const uint8_t secret[SHA256_BYTES],
                      struct segment_last *ret_last, struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(SIZE_MAX / 2);

    *ret_last = (struct segment_last){0};
    /* Twice as much each time, until there is one: what comes behind it may be any number of torn
     * bytes, and the record itself may be long. */
    for (uint64_t size = LAST_PIECE; end > 0; size *= 2) {
        uint64_t from = size < end ? end - size : 0;

        if (read_back(fd, from, end, &text, err) < 0)
            return -1;
        if (find_in(&text, from == 0, secret, ret_last)) {
            ret_last->end += from;
            return 0;
        }
        if (from == 0)
            break;
    }
    *ret_last = (struct segment_last){0};
    return 0;
}
