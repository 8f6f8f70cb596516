#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/index_internal.h"
#include "audit/record.h"
#include "base/cleanup.h"

#define SQL_MAX 2048

/* A run's beginning and end are two records; the beginning shows only where there is no end. */
static const char select_rows[] =
    "SELECT r.seq, r.time, r.kind, r.event, r.id, r.owner, r.session,"
    " CASE WHEN r.kind='start' THEN 'unfinished' ELSE r.status END, r.profile,"
    " COALESCE(s.summary, r.summary), r.wall_ms, r.first, r.offset, r.length,"
    " s.first, s.offset, s.length"
    " FROM records r LEFT JOIN records s ON r.kind='run' AND s.kind='start' AND s.id=r.id WHERE 1";

static const char no_starts[] = " AND (r.kind!='start' OR NOT EXISTS"
                                " (SELECT 1 FROM records e WHERE e.id=r.id AND e.kind='run'))";

/* They belong to their run, which shows; a program may have made thousands. */
static const char no_calls[] = " AND r.kind NOT IN ('call', 'input')";
static const char only_runs[] = " AND r.kind IN ('run', 'start')";

struct search {
    struct index *index;
    const struct index_filter *filter;
    sqlite3_stmt *statement;
    char *wanted; /* the text as it stands in a line, or NULL */
    uint64_t *found;
    size_t n_found, size;
    struct buf line, start;
};

static void search_done(struct search *s)
{
    (void)sqlite3_finalize(s->statement);
    free(s->wanted);
    free(s->found);
    buf_done(&s->line);
    buf_done(&s->start);
}

/* --- the question --- */

/* One condition of the filter: text, or a number where the text is NULL. */
struct term {
    const char *sql, *text;
    uint64_t number;
    bool is_there;
};

static int bind_term(sqlite3_stmt *statement, int place, const struct term *term)
{
    return term->text ? sqlite3_bind_text(statement, place, term->text, -1, SQLITE_STATIC)
                      : sqlite3_bind_int64(statement, place, (sqlite3_int64)term->number);
}

static const char *choice(const struct index_filter *f)
{
    if (f->is_of_runs)
        return only_runs;
    return f->kind || f->has_starts ? "" : no_calls;
}

static int prepare(struct search *s, struct error *err)
{
    static const char of_id[] = " AND ?1 IN (r.id, r.session, r.correlation, CAST(r.seq AS TEXT))";
    static const char of_status[] =
        " AND (CASE WHEN r.kind='start' THEN 'unfinished' ELSE r.status END)=?";
    const struct index_filter *f = s->filter;
    const struct term terms[] = {
        {of_id, f->id, .is_there = f->id},
        {" AND r.id=?", f->run, .is_there = f->run},
        {" AND r.time>=?", f->since, .is_there = f->since},
        {" AND r.time<=?||'~'", f->until, .is_there = f->until},
        {" AND r.kind=?", f->kind, .is_there = f->kind},
        {" AND r.owner=?", f->owner, .is_there = f->owner},
        {" AND r.session=?", f->session, .is_there = f->session},
        {" AND r.language=?", f->language, .is_there = f->language},
        {of_status, f->status, .is_there = f->status},
        {" AND r.seq>?", NULL, f->after, f->after != 0},
        {" AND r.seq<?", NULL, f->before, f->before != 0},
    };
    char sql[SQL_MAX];
    int place = 0, n;

    n = snprintf(sql, sizeof(sql), "%s%s%s", select_rows, f->has_starts ? "" : no_starts,
                 choice(f));
    for (size_t i = 0; i < ARRAY_SIZE(terms); i++)
        if (terms[i].is_there)
            n += snprintf(sql + n, sizeof(sql) - (size_t)n, "%s", terms[i].sql);
    (void)snprintf(sql + n, sizeof(sql) - (size_t)n, " ORDER BY r.seq DESC");
    if (sqlite3_prepare_v2(s->index->db, sql, -1, &s->statement, NULL) != SQLITE_OK)
        return index_fail(s->index, "look", err);
    for (size_t i = 0; i < ARRAY_SIZE(terms); i++)
        if (terms[i].is_there)
            (void)bind_term(s->statement, ++place, &terms[i]);
    return 0;
}

/* --- lines --- */

int index_read(struct index *index, uint64_t first, uint64_t offset, size_t len, struct buf *out,
               struct error *err)
{
    int fd = index_file(index, first, err);

    buf_clear(out);
    if (fd < 0 || len > RECORD_BYTES || buf_reserve(out, len, err) < 0)
        return -1;
    while (out->len < len) {
        ssize_t n = pread(fd, out->data + out->len, len - out->len, (off_t)(offset + out->len));

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return error_set(err, E_SYSTEM, "the trail was cut while it was read");
        out->len += (size_t)n;
    }
    out->data[out->len] = '\0';
    return 0;
}

static int read_row(struct search *s, struct error *err)
{
    sqlite3_stmt *row = s->statement;

    if (index_read(s->index, (uint64_t)sqlite3_column_int64(row, 11),
                   (uint64_t)sqlite3_column_int64(row, 12), (size_t)sqlite3_column_int64(row, 13),
                   &s->line, err) < 0)
        return -1;
    buf_clear(&s->start);
    if (sqlite3_column_type(row, 14) == SQLITE_NULL)
        return 0;
    return index_read(s->index, (uint64_t)sqlite3_column_int64(row, 14),
                      (uint64_t)sqlite3_column_int64(row, 15),
                      (size_t)sqlite3_column_int64(row, 16), &s->start, err);
}

static bool has_text(const struct search *s)
{
    return !s->wanted || strcasestr(buf_str(&s->line), s->wanted) ||
           strcasestr(buf_str(&s->start), s->wanted) ||
           index_text_has(s->index, &s->line, s->filter->text) ||
           index_text_has(s->index, &s->start, s->filter->text);
}

/* --- answers --- */

static const char *column(sqlite3_stmt *row, int i)
{
    return (const char *)sqlite3_column_text(row, i);
}

static int give(struct search *s, index_fn fn, void *user, struct error *err)
{
    sqlite3_stmt *r = s->statement;
    const struct index_row row = {
        .seq = (uint64_t)sqlite3_column_int64(r, 0),
        .time = column(r, 1),
        .kind = column(r, 2),
        .event = column(r, 3),
        .id = column(r, 4),
        .owner = column(r, 5),
        .session = column(r, 6),
        .status = column(r, 7),
        .profile = column(r, 8),
        .summary = column(r, 9),
        .wall_ms = sqlite3_column_double(r, 10),
    };

    return fn(user, &row, &s->line, s->start.len ? &s->start : NULL, err);
}

static int keep(struct search *s, uint64_t seq, struct error *err)
{
    if (s->n_found == s->size) {
        size_t size = s->size ? s->size * 2 : 256;
        uint64_t *grown = reallocarray(s->found, size, sizeof(*grown));

        if (!grown)
            return error_memory(err);
        s->found = grown;
        s->size = size;
    }
    s->found[s->n_found++] = seq;
    return 0;
}

/* The newest that fit, by their numbers: from the newest back until there are enough. */
static int collect(struct search *s, struct index_page *page, struct error *err)
{
    const struct index_filter *f = s->filter;
    size_t looked = 0;
    uint64_t seq = 0;
    int r = 0, step = SQLITE_DONE;

    while (r == 0 && (step = sqlite3_step(s->statement)) == SQLITE_ROW) {
        if ((f->limit && s->n_found == f->limit) || (f->looks && looked == f->looks)) {
            page->next = seq; /* this one is the next page's */
            break;
        }
        looked++;
        seq = (uint64_t)sqlite3_column_int64(s->statement, 0);
        if (s->wanted)
            r = read_row(s, err);
        if (r == 0 && has_text(s))
            r = keep(s, seq, err);
    }
    if (r == 0 && step != SQLITE_ROW && step != SQLITE_DONE)
        return index_fail(s->index, "look", err);
    return r;
}

static int give_found(struct search *s, index_fn fn, void *user, struct error *err)
{
    char sql[SQL_MAX];
    int r = 0;

    (void)snprintf(sql, sizeof(sql), "%s AND r.seq=?", select_rows);
    (void)sqlite3_finalize(s->statement);
    s->statement = NULL;
    if (sqlite3_prepare_v2(s->index->db, sql, -1, &s->statement, NULL) != SQLITE_OK)
        return index_fail(s->index, "look", err);
    for (size_t i = s->n_found; r == 0 && i > 0; i--) {
        (void)sqlite3_reset(s->statement);
        (void)sqlite3_bind_int64(s->statement, 1, (sqlite3_int64)s->found[i - 1]);
        if (sqlite3_step(s->statement) != SQLITE_ROW)
            continue;
        r = read_row(s, err) < 0 ? -1 : give(s, fn, user, err);
    }
    return r;
}

static uint64_t newest_of(const struct index *index)
{
    sqlite3_stmt *statement = NULL;
    uint64_t seq = 0;

    if (sqlite3_prepare_v2(index->db, "SELECT MAX(seq) FROM records", -1, &statement, NULL) ==
            SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        seq = (uint64_t)sqlite3_column_int64(statement, 0);
    (void)sqlite3_finalize(statement);
    return seq;
}

int index_find_page(struct index *index, const struct index_filter *filter, index_fn fn, void *user,
                    struct index_page *ret_page, struct error *err)
{
    cleanup(search_done) struct search s = {.index = index, .filter = filter};
    struct index_page page = {.newest = newest_of(index)};

    buf_init(&s.line, RECORD_BYTES + 1);
    buf_init(&s.start, RECORD_BYTES + 1);
    s.wanted = filter->text ? record_escape(filter->text) : NULL;
    if (filter->text && !s.wanted)
        return error_memory(err);
    if (prepare(&s, err) < 0 || collect(&s, &page, err) < 0)
        return -1;
    *ret_page = page;
    return give_found(&s, fn, user, err);
}

int index_find(struct index *index, const struct index_filter *filter, index_fn fn, void *user,
               struct error *err)
{
    struct index_page page;

    return index_find_page(index, filter, fn, user, &page, err);
}

int index_neighbour(struct index *index, uint64_t seq, bool is_behind, const char *owner,
                    const char *since, char ret_id[64], struct error *err)
{
    char sql[SQL_MAX];
    sqlite3_stmt *statement = NULL;
    int r = 0;

    (void)snprintf(sql, sizeof(sql),
                   "SELECT id FROM records WHERE kind='run' AND seq%c?1 AND (?2 IS NULL OR "
                   "owner=?2) AND (?3 IS NULL OR time>=?3) ORDER BY seq %s LIMIT 1",
                   is_behind ? '>' : '<', is_behind ? "ASC" : "DESC");
    ret_id[0] = '\0';
    if (sqlite3_prepare_v2(index->db, sql, -1, &statement, NULL) != SQLITE_OK)
        return index_fail(index, "look", err);
    (void)sqlite3_bind_int64(statement, 1, (sqlite3_int64)seq);
    (void)sqlite3_bind_text(statement, 2, owner, -1, SQLITE_STATIC);
    (void)sqlite3_bind_text(statement, 3, since, -1, SQLITE_STATIC);
    if (sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_text(statement, 0))
        r = snprintf(ret_id, 64, "%s", (const char *)sqlite3_column_text(statement, 0)) < 0 ? -1
                                                                                            : 0;
    (void)sqlite3_finalize(statement);
    return r;
}
