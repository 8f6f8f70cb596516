/* belljar session put, get and files: the files of a session's /workspace. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/terminal_text.h"
#include "cli/cmd.h"
#include "cli/output_sink.h"
#include "cli/session.h"
#include "cli/table.h"

/* Files below this size have no progress line. */
#define PROGRESS_BYTES ((uint64_t)8 * MIB)

/* Entries of a list, of a server that is a stranger. */
#define LIST_MAX 200000

/* --- progress --- */

struct progress {
    const char *name;
    time_t shown; /* when the line was last written; 0: never */
};

static void show_progress(void *user, uint64_t done, uint64_t all)
{
    struct progress *p = user;
    cleanup(buf_done) struct buf name = BUF_OF(64 * KIB);
    time_t now = time(NULL);

    if (!isatty(STDERR_FILENO) || all < PROGRESS_BYTES || now == p->shown ||
        terminal_line(p->name, strlen(p->name), &name, NULL) < 0)
        return;
    p->shown = now;
    if (all == UINT64_MAX)
        (void)fprintf(stderr, "\r\033[K%.60s  %.1f MB", buf_str(&name), (double)done / 1e6);
    else
        (void)fprintf(stderr, "\r\033[K%.60s  %3.0f %% of %.1f MB", buf_str(&name),
                      100 * (double)done / (double)all, (double)all / 1e6);
}

static void end_progress(const struct progress *p)
{
    if (p->shown)
        (void)fprintf(stderr, "\r\033[K");
}

/* --- names --- */

/* The last part of a path, as the name of a file. */
static const char *name_of(const char *path, struct error *err)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

    if (*name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
        return name;
    error_set(err, E_INVALID, "`%s` does not name a file", path);
    return NULL;
}

/* "/v1/sessions/NAME/files/PATH" */
static char *path_of(const char *session, const char *path, const char *query)
{
    cleanup_free char *before = client_path("/v1/sessions/", session, "/files/");

    return before ? client_path(before, path, query) : NULL;
}

/* --- put --- */

static int open_source(const char *path, struct stat *st, struct error *err)
{
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0 || fstat(fd, st) < 0) {
        error_errno(err, "open `%s`", path);
        if (errno == ENOENT)
            err->code = E_NOT_FOUND;
        return -1;
    }
    if (S_ISREG(st->st_mode))
        return take_fd(fd);
    error_set(err, E_INVALID, "`%s` is not a file", path);
    return error_hint(err, "of a directory, name the files: `%s/*`", path);
}

/* Without its session, a file is not what is wrong. */
static int name_culprit(const char *session, const char *path, struct error *err)
{
    if (err->code != E_NOT_FOUND || !err->message || !strstr(err->message, "no session"))
        return error_wrap(err, "%s", path);
    (void)error_wrap(err, "%s", session);
    return error_hint(err, "`belljar session list` lists those that are open");
}

static int put_one(struct query *q, const char *session, const char *path, struct error *err)
{
    const char *name = name_of(path, err);
    cleanup_free char *target = NULL, *url = NULL;
    char query[64];
    struct stat st;
    cleanup_close int fd = name ? open_source(path, &st, err) : -1;
    struct progress progress = {.name = path};
    int r;

    if (fd < 0)
        return -1;
    if (asprintf(&target, "%s%s%s", q->into ? q->into : "", q->into ? "/" : "", name) < 0) {
        target = NULL;
        return error_memory(err);
    }
    (void)snprintf(query, sizeof(query), "?new=%s&executable=%s", q->is_forced ? "false" : "true",
                   st.st_mode & 0100 ? "true" : "false");
    url = path_of(session, target, query);
    if (!url)
        return error_memory(err);
    r = client_put(&q->client, url, fd, (uint64_t)st.st_size, show_progress, &progress, err);
    end_progress(&progress);
    if (r == 0)
        return 0;
    if (!q->is_forced && err->code == E_INVALID && err->message && strstr(err->message, "exists"))
        (void)error_hint(err, "use `--force` to replace it");
    return name_culprit(session, path, err);
}

int session_files_put(struct query *q, char **words, struct error *err)
{
    const char *session = *words;

    for (words++; *words; words++)
        if (put_one(q, session, *words, err) < 0)
            return -1;
    return 0;
}

/* --- get --- */

static int refuse_existing(const char *name, struct error *err)
{
    error_set(err, E_INVALID, "`%s` exists", name);
    return error_hint(err, "use `--force` to replace it, or another `--into DIR`");
}

/* The content is there: it gets its name. A link never replaces anything. */
static int name_file(int dir, int fd, const char *name, bool is_forced, struct error *err)
{
    char from[48], temporary[64];

    (void)snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
    if (linkat(AT_FDCWD, from, dir, name, AT_SYMLINK_FOLLOW) == 0)
        return 0;
    if (errno != EEXIST)
        return error_errno(err, "write `%s`", name);
    if (!is_forced)
        return refuse_existing(name, err);
    (void)snprintf(temporary, sizeof(temporary), ".belljar-get-%d", (int)getpid());
    if (linkat(AT_FDCWD, from, dir, temporary, AT_SYMLINK_FOLLOW) < 0)
        return error_errno(err, "write `%s`", name);
    if (renameat(dir, temporary, dir, name) == 0)
        return 0;
    error_errno(err, "replace `%s`", name);
    (void)unlinkat(dir, temporary, 0);
    return -1;
}

static int download(struct query *q, const char *session, const char *path, int fd,
                    struct error *err)
{
    cleanup_free char *url = path_of(session, path, "");
    struct progress progress = {.name = path};
    int r;

    if (!url)
        return error_memory(err);
    r = client_get(&q->client, url, fd, show_progress, &progress, err);
    end_progress(&progress);
    if (r == 0)
        return 0;
    if (err->code == E_NOT_FOUND && !err->hint)
        (void)error_hint(err, "`belljar session files %s` lists what is there", session);
    return name_culprit(session, path, err);
}

static int get_one(struct query *q, const char *session, const char *path, int dir,
                   struct error *err)
{
    const char *name = name_of(path, err);
    cleanup_close int fd = -1;
    struct stat st;

    if (!name)
        return -1;
    if (!q->is_forced && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return refuse_existing(name, err);
    fd = openat(dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (fd < 0)
        return error_errno(err, "make a file in `%s`", q->into ? q->into : ".");
    if (download(q, session, path, fd, err) < 0)
        return -1;
    return name_file(dir, fd, name, q->is_forced, err);
}

/* On a terminal: a file is a program's text, as its output is. */
static int show_file(struct query *q, const char *session, const char *path, struct error *err)
{
    cleanup(output_sink_done) struct output_sink sink = OUTPUT_SINK_NONE;
    cleanup_close int fd = memfd_create("belljar-file", MFD_CLOEXEC);
    char piece[16384];
    ssize_t n;

    if (fd < 0)
        return error_errno(err, "memfd_create");
    if (download(q, session, path, fd, err) < 0)
        return -1;
    if (lseek(fd, 0, SEEK_SET) < 0)
        return error_errno(err, "lseek");
    output_sink_init(&sink, STDOUT_FILENO, "auto");
    while ((n = read(fd, piece, sizeof(piece))) > 0) {
        const struct run_event event = {.kind = RUN_EVENT_STDOUT, .data = piece, .len = (size_t)n};

        if (output_sink_pass(&sink, &event) < 0)
            break;
    }
    if (n < 0)
        return error_errno(err, "read");
    (void)output_sink_finish(&sink);
    return output_sink_check(&sink, "standard output", err);
}

static int write_out(struct query *q, const char *session, const char *path, struct error *err)
{
    return isatty(STDOUT_FILENO) == 1 ? show_file(q, session, path, err)
                                      : download(q, session, path, STDOUT_FILENO, err);
}

int session_files_get(struct query *q, char **words, struct error *err)
{
    const char *session = *words, *into = q->into ? q->into : ".";
    cleanup_close int dir = -1;

    if (strcmp(into, "-") == 0) {
        for (words++; *words; words++)
            if (write_out(q, session, *words, err) < 0)
                return -1;
        return 0;
    }
    dir = open(into, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0) {
        error_set(err, E_NOT_FOUND, "--into `%s`: %s", into, strerror(errno));
        return error_hint(err, "name an existing directory, or `-` for standard output");
    }
    for (words++; *words; words++)
        if (get_one(q, session, *words, dir, err) < 0)
            return -1;
    return 0;
}

/* --- files --- */

/* The last path of the list so far, or NULL. */
static const char *last_path(const json_t *all)
{
    return json_string_value(
        json_object_get(json_array_get(all, json_array_size(all) - 1), "path"));
}

/* Adds the next page. Returns 1 when more follows. */
static int add_page(struct query *q, const char *before, json_t *all, struct error *err)
{
    const char *last = last_path(all);
    cleanup_free char *path = last ? client_path(before, last, "") : strdup(before);
    cleanup_json json_t *answer = NULL;
    json_t *files, *item;
    size_t i;

    if (!path)
        return error_memory(err);
    if (!last)
        path[strlen(path) - strlen("&after=")] = '\0';
    if (client_call(&q->client, "GET", path, NULL, &answer, err) < 0)
        return -1;
    files = json_object_get(answer, "files");
    json_array_foreach(files, i, item)
    {
        const char *name = json_string_value(json_object_get(item, "path"));

        /* Each page begins behind the last path: a list that does not grow would never end. */
        if (!name || json_array_size(all) == LIST_MAX)
            return error_set(err, E_PROTOCOL, "the server's list of files is invalid");
        if (json_array_append(all, item) < 0)
            return error_memory(err);
    }
    return json_is_true(json_object_get(answer, "has_more")) && json_array_size(files);
}

static void print_files(const json_t *all)
{
    static const struct table_column columns[] = {
        {"SIZE", 0, true}, {"MODIFIED", 0, false}, {"KIND", 16, false}, {"PATH", 0, false}, {0}};
    struct table table;
    json_t *item;
    size_t i;

    table_init(&table, columns);
    json_array_foreach(all, i, item)
    {
        double modified = json_number_value(json_object_get(item, "modified"));
        char size[TABLE_AGE_SIZE], date[32] = "-";
        time_t when = isfinite(modified) && fabs(modified) < 1e11 ? (time_t)modified : 0;
        struct tm tm;

        if (localtime_r(&when, &tm))
            (void)strftime(date, sizeof(date), "%Y-%m-%d %H:%M", &tm);
        table_add(&table, table_size(json_number_value(json_object_get(item, "size")), size));
        table_add(&table, date);
        table_add(&table, json_string_value(json_object_get(item, "kind")));
        table_add(&table, json_string_value(json_object_get(item, "path")));
    }
    table_print(&table, stdout, 0);
    table_done(&table);
}

int session_files_list(struct query *q, char **words, struct error *err)
{
    cleanup_json json_t *all = json_array();
    cleanup_free char *session = client_path("/v1/sessions/", words[0], "/files?depth=0&path=");
    cleanup_free char *before =
        session ? client_path(session, words[1] ? words[1] : "", "&after=") : NULL;
    int r;

    if (!all || !before)
        return error_memory(err);
    do {
        r = add_page(q, before, all, err);
    } while (r == 1);
    if (r < 0)
        return -1;
    if (q->is_json)
        return cmd_print_json(all, err);
    if (json_array_size(all))
        print_files(all);
    else
        (void)fprintf(stderr, "there are no files\n");
    return 0;
}
