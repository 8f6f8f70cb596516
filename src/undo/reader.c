#include "undo/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/limits.h"

void reader_done(struct reader *r)
{
    free(r->entries);
    free(r->text);
    *r = (struct reader){0};
}

/* Changes have numbers, each one higher than the one before. */
static bool is_change(enum entry_kind kind)
{
    return strchr("CWMRrNE", (int)kind) != NULL;
}

struct parsing {
    struct reader *r;
    size_t size; /* of r->entries */
    size_t *places;
    size_t n_places, places_size; /* entry of each change, by its number less one */
};

static int damaged(struct error *err, size_t line)
{
    (void)error_wrap(err, "the undo journal is damaged at line %zu", line);
    return -1;
}

/* Adds the attributes before a change and its later outcome. */
static int take_entry(struct parsing *p, const struct entry *e, struct error *err)
{
    struct reader *r = p->r;
    void *grown;

    if (r->is_sealed)
        return error_set(err, E_PROTOCOL, "an entry after the end");
    if ((r->count == 0) != (e->kind == ENTRY_BEGIN) ||
        (e->kind == ENTRY_BEGIN && e->size != ENTRY_VERSION))
        return error_set(err, E_PROTOCOL, "not a journal of this version");
    if (e->grant >= LIMIT_GRANTS)
        return error_set(err, E_PROTOCOL, "an unknown directory");
    if (is_change(e->kind)) {
        if (e->id != p->n_places + 1)
            return error_set(err, E_PROTOCOL, "an entry is missing");
        if (!(grown = array_grow(p->places, p->n_places, &p->places_size, sizeof(*p->places))))
            return error_memory(err);
        p->places = grown;
        p->places[p->n_places++] = r->count;
    }
    if (e->kind == ENTRY_CANCEL) {
        if (e->id == 0 || e->id > p->n_places)
            return error_set(err, E_PROTOCOL, "an unknown entry is cancelled");
        r->entries[p->places[e->id - 1]].kind = ENTRY_CANCEL;
    }
    if (!(grown = array_grow(r->entries, r->count, &p->size, sizeof(*r->entries))))
        return error_memory(err);
    r->entries = grown;
    r->entries[r->count++] = *e;
    r->is_sealed = e->kind == ENTRY_SEAL;
    r->last_ns = e->at_ns;
    return 0;
}

static void leave_out_cancelled(struct reader *r)
{
    size_t kept = 0;

    for (size_t i = 0; i < r->count; i++)
        if (r->entries[i].kind != ENTRY_CANCEL)
            r->entries[kept++] = r->entries[i];
    r->count = kept;
}

static int parse_lines(struct parsing *p, struct error *err)
{
    struct reader *r = p->r;
    char *at = r->text, *end = r->text + r->len, *newline;

    for (size_t line = 1; at < end && (newline = memchr(at, '\n', (size_t)(end - at))); line++) {
        struct entry e;

        if (newline - at >= ENTRY_LINE_MAX) {
            error_set(err, E_PROTOCOL, "the line is too long");
            return damaged(err, line);
        }
        if (entry_parse(at, (size_t)(newline - at), &e, err) < 0 || take_entry(p, &e, err) < 0)
            return damaged(err, line);
        at = newline + 1;
    }
    if (r->count == 0)
        return error_set(err, E_NOT_FOUND, "nothing was recorded");
    r->began_ns = r->entries[0].at_ns;
    leave_out_cancelled(r);
    return 0;
}

int reader_parse(struct reader *ret_reader, char *text, size_t len, struct error *err)
{
    struct reader r = {.text = text, .len = len};
    struct parsing p = {.r = &r};
    int result = parse_lines(&p, err);

    free(p.places);
    if (result < 0) {
        reader_done(&r);
        return -1;
    }
    *ret_reader = r;
    return 0;
}

static int read_all(int fd, char *text, size_t len, size_t *ret_len, struct error *err)
{
    size_t got = 0;

    while (got < len) {
        ssize_t n = pread(fd, text + got, len - got, (off_t)got);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_errno(err, "read the undo journal");
        if (n == 0)
            break;
        got += (size_t)n;
    }
    *ret_len = got;
    return 0;
}

int reader_load(struct reader *ret_reader, int dir, struct error *err)
{
    cleanup_close int fd =
        openat(dir, "journal", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    cleanup_free char *text = NULL;
    struct stat st;
    size_t len = 0;

    if (fd < 0 && errno == ENOENT)
        return error_set(err, E_NOT_FOUND, "nothing was recorded");
    if (fd < 0 || fstat(fd, &st) < 0)
        return error_errno(err, "open the undo journal");
    if (!S_ISREG(st.st_mode) || st.st_size < 0 || (uint64_t)st.st_size > LIMIT_UNDO_TEXT_READ)
        return error_set(err, E_TOO_LARGE, "the undo journal is too large to be read");
    text = malloc((size_t)st.st_size + 1);
    if (!text)
        return error_memory(err);
    if (read_all(fd, text, (size_t)st.st_size, &len, err) < 0)
        return -1;
    return reader_parse(ret_reader, take_ptr(text), len, err);
}
