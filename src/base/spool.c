#include "base/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/closer.h"
#include "base/file.h"
#include "base/limits.h"

/* Bytes read at a time while looking for a line. */
#define CHUNK (64 * KIB)

/* So often the number of lines is noted, so that the way to any line is short. */
#define NOTE_EVERY MIB
#define NOTES      (LIMIT_SPOOL_BYTES / NOTE_EVERY)

struct spool_directory {
    int dir; /* -1: memory */
    uint64_t limit;
    uint64_t used;
};

struct spool {
    struct spool_directory *spools;
    uint64_t *used; /* by its owner, or NULL */
    int fd;
    bool is_full;
    bool ends_in_line; /* the last byte is no newline */
    uint64_t size;
    uint64_t dropped;
    uint64_t newlines;
    uint32_t notes[NOTES]; /* newlines before byte i * NOTE_EVERY */
};

int spool_directory_new(const char *dir, uint64_t limit, struct spool_directory **ret_spools,
                        struct error *err)
{
    cleanup_close int fd = -1;
    struct spool_directory *spools;

    if (dir) {
        fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
            return error_errno(err, "open %s", dir);
    }
    spools = calloc(1, sizeof(*spools));
    if (!spools)
        return error_memory(err);
    *spools = (struct spool_directory){.dir = take_fd(fd), .limit = limit};
    *ret_spools = spools;
    return 0;
}

void spool_directory_free(struct spool_directory *spools)
{
    if (!spools)
        return;
    close_fd(&spools->dir);
    free(spools);
}

uint64_t spool_directory_used(const struct spool_directory *spools)
{
    return spools->used;
}

/* A file that is gone when we are, however we end. */
static int open_unnamed(const struct spool_directory *spools)
{
    int fd = -1;

    if (spools->dir >= 0)
        fd = openat(spools->dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    return fd >= 0 ? fd : memfd_create("belljar-output", MFD_CLOEXEC);
}

int spool_new(struct spool_directory *spools, uint64_t *used, struct spool **ret_spool,
              struct error *err)
{
    struct spool *spool;

    if (file_descriptors_are_scarce())
        return error_set(err, E_BUSY, "too many files are open");
    spool = calloc(1, sizeof(*spool));
    if (!spool)
        return error_memory(err);
    spool->spools = spools;
    spool->used = used;
    spool->fd = open_unnamed(spools);
    if (spool->fd < 0) {
        free(spool);
        return error_errno(err, "make a file for the output");
    }
    *ret_spool = spool;
    return 0;
}

void spool_free(struct spool *spool)
{
    if (!spool)
        return;
    spool->spools->used -= spool->size;
    if (spool->used)
        *spool->used -= spool->size;
    closer_close_file(&spool->fd);
    free(spool);
}

/* --- writing --- */

static uint64_t count_newlines(const char *data, size_t len)
{
    const char *end = data + len;
    uint64_t count = 0;

    for (; (data = memchr(data, '\n', (size_t)(end - data))); data++)
        count++;
    return count;
}

/* Notes what was written; `len` bytes do not reach beyond the next note. */
static void take_note(struct spool *spool, const char *data, size_t len)
{
    spool->newlines += count_newlines(data, len);
    spool->ends_in_line = data[len - 1] != '\n';
    spool->size += len;
    spool->spools->used += len;
    if (spool->used)
        *spool->used += len;
    if (spool->size % NOTE_EVERY == 0 && spool->size < LIMIT_SPOOL_BYTES)
        spool->notes[spool->size / NOTE_EVERY] = (uint32_t)spool->newlines;
}

static size_t room(const struct spool *spool)
{
    uint64_t here = LIMIT_SPOOL_BYTES - spool->size;
    uint64_t all =
        spool->spools->limit > spool->spools->used ? spool->spools->limit - spool->spools->used : 0;
    uint64_t note = NOTE_EVERY - spool->size % NOTE_EVERY;

    if (spool->used) /* as much as is still free, and no more */
        all = all > *spool->used ? all - *spool->used : 0;
    here = here < all ? here : all;
    return (size_t)(here < note ? here : note);
}

void spool_add(struct spool *spool, const void *data, size_t len)
{
    const char *at = data;

    while (len && !spool->is_full) {
        size_t want = room(spool);
        ssize_t n;

        want = want < len ? want : len;
        n = want ? pwrite(spool->fd, at, want, (off_t)spool->size) : 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            /* From here on there would be holes: what was kept stays a beginning. */
            spool->is_full = true;
            break;
        }
        take_note(spool, at, (size_t)n);
        at += n;
        len -= (size_t)n;
    }
    spool->dropped += len;
}

void spool_info(const struct spool *spool, struct spool_info *ret_info)
{
    *ret_info = (struct spool_info){
        .size = spool->size,
        .dropped = spool->dropped,
        .lines = spool->newlines + spool->ends_in_line,
    };
}

/* --- reading --- */

ssize_t spool_read(const struct spool *spool, uint64_t offset, void *data, size_t len,
                   struct error *err)
{
    size_t got = 0;

    if (offset >= spool->size)
        return 0;
    if (len > spool->size - offset)
        len = (size_t)(spool->size - offset);
    while (got < len) {
        ssize_t n = pread(spool->fd, (char *)data + got, len - got, (off_t)(offset + got));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_errno(err, "read the output");
        if (n == 0)
            break;
        got += (size_t)n;
    }
    return (ssize_t)got;
}

/* Moves *place over `lines` newlines. Returns how many were left at the end, or -1. */
static int64_t skip_lines(const struct spool *spool, struct spool_place *place, uint64_t lines,
                          struct error *err)
{
    char data[CHUNK];

    while (lines) {
        ssize_t n = spool_read(spool, place->offset, data, sizeof(data), err);
        const char *at = data, *newline;

        if (n < 0)
            return -1;
        if (n == 0)
            break;
        while (lines && (newline = memchr(at, '\n', (size_t)(data + n - at)))) {
            at = newline + 1;
            place->line++;
            lines--;
        }
        place->offset += lines ? (uint64_t)n : (uint64_t)(at - data);
    }
    return (int64_t)lines;
}

int spool_find_line(const struct spool *spool, uint64_t line, struct spool_place *ret_place,
                    struct error *err)
{
    struct spool_place place = {.line = 1};
    struct spool_info info;
    int64_t left;

    spool_info(spool, &info);
    if (line == 0 || line > info.lines)
        return error_set(err, E_NOT_FOUND, "there are %llu lines", (unsigned long long)info.lines);
    for (size_t i = 1; i < NOTES && i * NOTE_EVERY <= spool->size; i++) {
        if ((uint64_t)spool->notes[i] + 1 >= line)
            break;
        place = (struct spool_place){i * NOTE_EVERY, (uint64_t)spool->notes[i] + 1};
    }
    left = skip_lines(spool, &place, line - place.line, err);
    if (left != 0)
        return left < 0 ? -1 : error_set(err, E_INTERNAL, "a line of the output is missing");
    *ret_place = place;
    return 0;
}

/* Bytes of the first `lines` lines in `text`; all of it where there are fewer. *ret_ends: how many
 * of them end there. */
static size_t length_of_lines(const char *text, size_t len, uint64_t lines, uint64_t *ret_ends)
{
    size_t at = 0;

    *ret_ends = 0;
    while (*ret_ends < lines) {
        const char *newline = memchr(text + at, '\n', len - at);

        if (!newline)
            return len;
        at = (size_t)(newline - text) + 1;
        (*ret_ends)++;
    }
    return at;
}

int spool_read_lines(const struct spool *spool, struct spool_place *place, uint64_t lines,
                     size_t max, struct buf *out, struct error *err)
{
    uint64_t ends;
    size_t len;
    ssize_t n;

    max = max < LIMIT_SPOOL_PAGE ? max : LIMIT_SPOOL_PAGE;
    if (buf_reserve(out, max, err) < 0)
        return -1;
    n = spool_read(spool, place->offset, out->data + out->len, max, err);
    if (n < 0)
        return -1;
    len = length_of_lines(out->data + out->len, (size_t)n, lines, &ends);
    out->len += len;
    out->data[out->len] = '\0';
    place->offset += len;
    place->line += ends;
    return place->offset < spool->size;
}
