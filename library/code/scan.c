#include "library/code/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "library/code/names.h"
#include "library/code/tree.h"

#define BINARY_BYTES   8192
#define STACK_BYTES    (512u << 10)
#define FILES_A_THREAD 16 /* fewer are not worth one */
#define PAUSE_FILES    32

struct scan_worker {
    char *buffer;
    size_t size;
    struct outline outline;
};

struct scan_worker *scan_worker_new(void)
{
    return calloc(1, sizeof(struct scan_worker));
}

void scan_worker_free(struct scan_worker *worker)
{
    if (!worker)
        return;
    outline_done(&worker->outline);
    free(worker->buffer);
    free(worker);
}

static bool skip(struct scan_file *file, int errnum, const char *why)
{
    file->state = SCAN_SKIPPED;
    file->errnum = errnum;
    file->why = why;
    return false;
}

/* ---- reading ---- */

static bool reserve(struct scan_worker *w, size_t size)
{
    size_t wanted = w->size ? w->size : 64u << 10;
    char *grown;

    if (size <= w->size)
        return true;
    while (wanted < size)
        wanted *= 2;
    grown = realloc(w->buffer, wanted);
    if (!grown)
        return false;
    w->buffer = grown;
    w->size = wanted;
    return true;
}

/* A file that grows while it is read is as large as it was. */
static bool read_whole(struct scan_worker *w, int fd, struct scan_file *file, size_t *ret_len)
{
    struct stat st;
    size_t len = 0;

    if (fstat(fd, &st) < 0)
        return skip(file, errno, NULL);
    if (!S_ISREG(st.st_mode))
        return skip(file, 0, "not a regular file");
    if (st.st_size > SCAN_FILE_MAX)
        return skip(file, 0, "too large");
    if (!reserve(w, (size_t)st.st_size + 1))
        return skip(file, ENOMEM, NULL);
    while (len < (size_t)st.st_size) {
        ssize_t n = read(fd, w->buffer + len, (size_t)st.st_size - len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return skip(file, errno, NULL);
        if (n == 0)
            break;
        len += (size_t)n;
    }
    *ret_len = len;
    return true;
}

static bool read_file(struct scan_worker *w, struct scan_file *file, size_t *ret_len)
{
    int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool is_read;

    if (fd < 0)
        return skip(file, errno, NULL);
    is_read = read_whole(w, fd, file, ret_len);
    close(fd);
    return is_read;
}

/* ---- before anything is taken apart ---- */

static bool is_ascii(const char *text, size_t len)
{
    uint64_t any = 0, word;
    size_t i = 0;

    for (; i + sizeof(word) <= len; i += sizeof(word)) {
        memcpy(&word, text + i, sizeof(word));
        any |= word;
    }
    for (; i < len; i++)
        any |= (unsigned char)text[i];
    return !(any & 0x8080808080808080u);
}

/* A declaration in the first two lines that says anything but UTF-8, or a mark that does. */
static bool is_odd(const char *text, size_t len)
{
    const char *end = text + len, *line = text, *found;

    if (len >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0))
        return true;
    for (int i = 0; i < 2 && line < end; i++) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));

        stop = stop ? stop : end;
        found = memchr(line, '#', (size_t)(stop - line));
        found = found ? memmem(found, (size_t)(stop - found), "coding", 6) : NULL;
        if (found && !memmem(found, (size_t)(stop - found), "utf-8", 5) &&
            !memmem(found, (size_t)(stop - found), "utf8", 4))
            return true;
        line = stop + 1;
    }
    return false;
}

/* The bytes that every answer contains. Of a file that is not ASCII alone we cannot say: names are
 * the same when their NFKC forms are. */
static bool may_match(const struct scan_query *q, const char *text, size_t len)
{
    const char *needle = q->what == SCAN_UNUSED ? "import" : q->pattern;
    size_t needle_len = q->what == SCAN_UNUSED ? strlen("import") : q->pattern_len;

    if (!needle || (q->is_judged_later && q->what != SCAN_UNUSED) || q->what == SCAN_IMPORTS ||
        q->what == SCAN_FIGURES)
        return true;
    return memmem(text, len, needle, needle_len) ||
           (q->what != SCAN_UNUSED && q->what != SCAN_BYTES && !is_ascii(text, len));
}

/* ---- questions ---- */

bool scan_is_match(const struct scan_query *q, const char *name, size_t len)
{
    if (!q->pattern)
        return true;
    if (q->what != SCAN_CALLS)
        return memmem(name, len, q->pattern, q->pattern_len) != NULL;
    return len >= q->pattern_len &&
           memcmp(name + len - q->pattern_len, q->pattern, q->pattern_len) == 0 &&
           (len == q->pattern_len || name[len - q->pattern_len - 1] == '.' ||
            (len > q->pattern_len + 1 && memcmp(name + len - q->pattern_len - 2, "::", 2) == 0));
}

enum certainty { NO, MAYBE, YES };

static enum certainty judge(const struct scan_query *q, const struct outline *o, struct piece name)
{
    const char *text = outline_text(o, name);

    if (q->is_judged_later || (q->pattern && name.len && !is_ascii(text, name.len)))
        return MAYBE;
    return scan_is_match(q, text, name.len) ? YES : NO;
}

static size_t count_defs(const struct scan_query *q, const struct outline *o, size_t *ret_maybe)
{
    size_t count = 0;

    for (size_t i = 0; i < o->n_defs; i++)
        if ((o->defs[i].kind == OUTLINE_CLASS) == (q->what == SCAN_CLASSES)) {
            enum certainty c = judge(q, o, o->defs[i].name);

            count += c == YES;
            *ret_maybe += c == MAYBE;
        }
    return count;
}

/* Candidates that turn out not to match are dropped. */
static size_t count_calls(const struct scan_query *q, struct outline *o, size_t *ret_maybe)
{
    size_t count = 0, kept = 0;

    for (size_t i = 0; i < o->n_calls; i++) {
        enum certainty c = judge(q, o, o->calls[i].callee);

        if (c == NO)
            continue;
        count += c == YES;
        *ret_maybe += c == MAYBE;
        o->calls[kept++] = o->calls[i];
    }
    o->n_calls = kept;
    return count;
}

static bool keep(const struct scan_query *q, struct scan_file *file, const struct outline *o,
                 size_t maybe)
{
    if (!maybe && (q->is_counting || !file->count))
        return true;
    file->found = outline_pack(o);
    return file->found;
}

static bool read_outline(const struct scan_query *q, struct scan_worker *w, struct scan_file *file,
                         const char *text, size_t len)
{
    bool has_summaries = (q->what == SCAN_FUNCTIONS || q->what == SCAN_CLASSES) && !q->is_counting;
    const struct tree_language *language = tree_language_of(file->path, text, len);
    unsigned wishes =
        (q->what == SCAN_CALLS ? OUTLINE_CALLS : 0u) | (has_summaries ? OUTLINE_SUMMARIES : 0u);
    struct outline *o = &w->outline;
    size_t maybe = 0;

    outline_empty(o);
    if (language)
        tree_read(o, language, text, len, wishes);
    else
        outline_read(o, text, len, wishes);
    if (o->is_out_of_memory)
        return false;
    if (o->why) {
        (void)skip(file, 0, o->why);
        file->line = o->why_line;
        return true;
    }
    if (q->what == SCAN_FUNCTIONS || q->what == SCAN_CLASSES)
        file->count = count_defs(q, o, &maybe);
    else if (q->what == SCAN_CALLS)
        file->count = count_calls(q, o, &maybe);
    else
        file->count = q->what == SCAN_IMPORTS && q->is_counting ? o->n_imports : 1;
    return keep(q, file, o, maybe);
}

/* ---- unused imports ---- */

static struct piece copy_piece(char **at, const char *base, const char *text, size_t len)
{
    struct piece piece = {(uint32_t)(*at - base), (uint32_t)len};

    memcpy(*at, text, len);
    *at += len;
    return piece;
}

static struct piece copy_event(char **at, const char *base, const struct names *n, uint32_t event)
{
    if (event == NAMES_NOWHERE)
        return (struct piece){0};
    return copy_piece(at, base, n->text + n->events[event].start, n->events[event].len);
}

static size_t event_len(const struct names *n, uint32_t event)
{
    return event == NAMES_NOWHERE ? 0 : n->events[event].len;
}

static struct scan_unused_list *pack_unused(const struct names *n, const uint32_t *found,
                                            size_t count)
{
    size_t head = sizeof(struct scan_unused_list) + count * sizeof(struct scan_unused), text = 0;
    struct scan_unused_list *list;
    char *at;

    for (size_t i = 0; i < count; i++) {
        const struct names_import *m = &n->imports[found[i]];

        text += m->module_len + event_len(n, m->name) + event_len(n, m->binding);
    }
    list = malloc(head + text);
    if (!list)
        return NULL;
    list->count = count;
    at = list->text = (char *)list + head;
    for (size_t i = 0; i < count; i++) {
        const struct names_import *m = &n->imports[found[i]];

        list->items[i] = (struct scan_unused){
            .module = copy_piece(&at, list->text, n->text + m->module, m->module_len),
            .name = copy_event(&at, list->text, n, m->name),
            .binding = copy_event(&at, list->text, n, m->binding),
            .level = m->level,
            .line = m->line,
            .is_global = m->binding != NAMES_NOWHERE && n->events[m->binding].scope == 0};
    }
    return list;
}

static bool note_unused(const struct scan_query *q, struct scan_file *file, struct names *n)
{
    uint32_t *found = calloc(n->n_imports + 1, sizeof(*found));

    if (!found)
        return false;
    file->count = names_unused(n, found);
    if (file->count && !q->is_counting)
        file->unused = pack_unused(n, found, file->count);
    free(found);
    return !file->count || q->is_counting || file->unused;
}

static bool read_names(const struct scan_query *q, struct scan_file *file, const char *text,
                       size_t len)
{
    struct names n = {0};
    bool is_done = true;

    names_read(&n, text, len);
    if (n.why) {
        (void)skip(file, 0, n.why);
        file->line = n.why_line;
    } else if (!n.is_out_of_memory && n.n_imports) {
        names_resolve(&n);
        is_done = n.is_out_of_memory || note_unused(q, file, &n);
    }
    is_done = is_done && !n.is_out_of_memory;
    names_done(&n);
    return is_done;
}

/* ---- one file ---- */

bool scan_text(const struct scan_query *q, struct scan_worker *w, struct scan_file *file,
               const char *text, size_t len)
{
    file->state = SCAN_DONE;
    if (!may_match(q, text, len))
        return true;
    if (q->what == SCAN_BYTES) {
        file->count = 1;
        return true;
    }
    if (q->what == SCAN_UNUSED && tree_language_of(file->path, text, len)) {
        (void)skip(file, 0, "unused imports are found in Python only");
        return true;
    }
    return q->what == SCAN_UNUSED ? read_names(q, file, text, len)
                                  : read_outline(q, w, file, text, len);
}

static bool scan_file(const struct scan_query *q, struct scan_worker *w, struct scan_file *file)
{
    const char *text;
    size_t len;

    if (!read_file(w, file, &len))
        return file->errnum != ENOMEM;
    text = w->buffer;
    if (is_odd(text, len)) {
        file->state = SCAN_ODD;
        return true;
    }
    if (memchr(text, '\0', len < BINARY_BYTES ? len : BINARY_BYTES)) {
        (void)skip(file, 0, "binary");
        return true;
    }
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        return scan_text(q, w, file, text + 3, len - 3);
    return scan_text(q, w, file, text, len);
}

/* ---- all of them ---- */

static void work(struct scan *scan, bool is_first)
{
    struct scan_worker *w = scan_worker_new();
    size_t i;

    if (!w)
        atomic_store(&scan->is_out_of_memory, true);
    for (size_t turn = 1;
         w && !atomic_load(&scan->is_stopped) && !atomic_load(&scan->is_out_of_memory) &&
         atomic_load(&scan->found) < scan->query.limit &&
         (i = atomic_fetch_add(&scan->next, 1)) < scan->n_files;
         turn++) {
        if (!scan_file(&scan->query, w, &scan->files[i]))
            atomic_store(&scan->is_out_of_memory, true);
        if (scan->query.limit != SIZE_MAX)
            atomic_fetch_add(&scan->found, scan->files[i].count);
        if (is_first && scan->on_pause && turn % PAUSE_FILES == 0 && !scan->on_pause(scan->arg, i))
            atomic_store(&scan->is_stopped, true);
    }
    scan_worker_free(w);
}

static void *run_thread(void *arg)
{
    work(arg, false);
    return NULL;
}

unsigned scan_cpus(void)
{
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

    return count < 1 ? 1 : count > SCAN_THREADS_MAX ? SCAN_THREADS_MAX : (unsigned)count;
}

/* Signals are for the thread that Python knows. */
static unsigned start_threads(struct scan *scan, pthread_t *threads, unsigned wanted)
{
    unsigned count = 0;
    pthread_attr_t attr;
    sigset_t all, before;

    if (!wanted || pthread_attr_init(&attr) != 0)
        return 0;
    (void)pthread_attr_setstacksize(&attr, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (count < wanted && pthread_create(&threads[count], &attr, run_thread, scan) == 0)
        count++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return count;
}

void scan_run(struct scan *scan)
{
    pthread_t threads[SCAN_THREADS_MAX];
    size_t worth = scan->n_files / FILES_A_THREAD;
    unsigned wanted = scan->n_threads, count;

    if (wanted > SCAN_THREADS_MAX)
        wanted = SCAN_THREADS_MAX;
    if (wanted > worth)
        wanted = (unsigned)worth;
    count = wanted > 1 ? start_threads(scan, threads, wanted - 1) : 0;
    work(scan, true);
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

void scan_done(struct scan *scan)
{
    for (size_t i = 0; i < scan->n_files; i++) {
        free(scan->files[i].found);
        free(scan->files[i].unused);
        scan->files[i].found = NULL;
        scan->files[i].unused = NULL;
    }
}
