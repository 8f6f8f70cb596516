/* belljar audit list, export, follow: records one after the other. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "audit/record.h"
#include "base/cleanup.h"
#include "base/id.h"
#include "base/limits.h"
#include "base/terminal_text.h"
#include "cli/audit/audit.h"

/* --- a row --- */

static int say(struct buf *out, const char *text, struct error *err)
{
    return text ? terminal_line(text, strlen(text), out, err) : 0;
}

static int add_length(const struct index_row *row, struct buf *out, struct error *err)
{
    if (row->wall_ms < 0 || strcmp(row->kind, "run") != 0)
        return buf_printf(out, err, "%10s  ", "");
    return buf_printf(out, err, row->wall_ms < 1000 ? "%7.1f ms  " : "%8.1f s  ",
                      row->wall_ms < 1000 ? row->wall_ms : row->wall_ms / 1000);
}

/* "undone" would be untrue of an undo that failed. */
static bool has_failed(const struct index_row *row)
{
    return row->status && strcmp(row->kind, "undo") == 0 && strcmp(row->status, "failed") == 0;
}

/* Time, what, how it ended, how long it took, whose, what it was. */
static int add_row(const struct index_row *row, struct buf *out, struct error *err)
{
    const char *what = row->event && !has_failed(row) ? row->event : row->status ? row->status : "";
    bool is_run = strcmp(row->kind, "run") == 0 || strcmp(row->kind, "start") == 0;
    char id[ID_SIZE];

    (void)snprintf(id, sizeof(id), "%s", row->id ? row->id : "");
    if (!row->id)
        (void)snprintf(id, sizeof(id), "#%llu", (unsigned long long)row->seq);
    if (buf_printf(out, err, "%.10s %.8s  %-30s  %-8s %-15s ", row->time, row->time + 11, id,
                   is_run ? "run" : row->kind, is_run && row->status ? row->status : what) < 0 ||
        add_length(row, out, err) < 0 || say(out, row->owner, err) < 0 ||
        buf_add_str(out, "  ", err) < 0 || say(out, row->summary, err) < 0)
        return -1;
    while (out->len && out->data[out->len - 1] == ' ')
        out->len--;
    return buf_add_str(out, "\n", err);
}

struct listing {
    const struct audit *audit;
    size_t count;
    uint64_t last_seq;
};

static int print_row(void *user, const struct index_row *row, const struct buf *line,
                     const struct buf *start, struct error *err)
{
    struct listing *listing = user;
    cleanup(buf_done) struct buf out = BUF_OF(RECORD_BYTES + KIB);

    (void)start;
    listing->count++;
    listing->last_seq = row->seq;
    if (listing->audit->is_json
            ? buf_add(&out, line->data, line->len, err) < 0 || buf_add_str(&out, "\n", err) < 0
            : add_row(row, &out, err) < 0)
        return -1;
    return audit_print(&out, err);
}

static int find(struct audit *audit, const struct index_filter *filter, struct listing *listing,
                struct error *err)
{
    struct index *index = NULL;
    int r;

    if (index_open(audit->dir, &index, err) < 0)
        return -1;
    r = index_find(index, filter, print_row, listing, err);
    index_close(index);
    return r;
}

int audit_list(struct audit *audit, char **words, struct error *err)
{
    struct listing listing = {.audit = audit};

    (void)words;
    if (find(audit, &audit->filter, &listing, err) < 0)
        return -1;
    if (!listing.count && !audit->is_json)
        (void)fprintf(stderr, "belljar: no matching records\n");
    else if (!audit->has_limit && listing.count == audit->filter.limit && !audit->is_json)
        (void)fprintf(stderr, "belljar: the newest %zu; --all shows all\n", listing.count);
    return 0;
}

/* Lines as they are in the trail, beginnings of runs, too. */
int audit_export(struct audit *audit, char **words, struct error *err)
{
    struct listing listing = {.audit = audit};

    (void)words;
    audit->is_json = true;
    audit->filter.has_starts = true;
    if (!audit->has_limit)
        audit->filter.limit = 0;
    return find(audit, &audit->filter, &listing, err);
}

/* --- follow --- */

/* Until something is written. */
static int wait_for_more(int watch, struct error *err)
{
    struct pollfd ready = {.fd = watch, .events = POLLIN};
    char events[4096];

    if (poll(&ready, 1, -1) < 0 && errno != EINTR)
        return error_errno(err, "wait for the trail");
    while (read(watch, events, sizeof(events)) > 0)
        ;
    return 0;
}

int audit_follow(struct audit *audit, char **words, struct error *err)
{
    cleanup_close int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    struct listing listing = {.audit = audit};
    struct index_filter filter = audit->filter;

    (void)words;
    if (!audit->has_limit)
        filter.limit = 10;
    filter.has_starts = true;
    if (watch < 0 || inotify_add_watch(watch, audit->dir, IN_MOVED_TO) < 0)
        return error_errno(err, "follow `%s`", audit->dir);
    for (;;) {
        if (find(audit, &filter, &listing, err) < 0)
            return -1;
        filter.limit = 0;
        filter.after = listing.last_seq ? listing.last_seq : filter.after;
        if (wait_for_more(watch, err) < 0)
            return -1;
    }
}
