#include "terminal/editor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include <histedit.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/terminal_text.h"
#include "terminal/history.h"

/* A key that sends several bytes sends them at once; a lone Escape is known by what does not
 * follow. The loop stands still for that long. */
#define KEY_MS 100

#define PROMPT_MAX 64

/* Ctrl-D. The editor leaves it as the only character of the line where it means the end. */
#define END_KEY '\4'

/* A terminal that was asked to puts these around what is pasted. */
#define PASTE_ON    "\033[?2004h"
#define PASTE_OFF   "\033[?2004l"
#define PASTE_BEGIN "\033[200~"
#define PASTE_END   "\033[201~"
#define PASTE_MARK  (sizeof(PASTE_BEGIN) - 1)

/* Shown below the line at most; more are counted. */
#define WORDS_SHOWN 200

struct editor {
    struct loop *loop;
    struct editor_options options;
    const struct editor_events *events;
    void *owner;
    char *history_path;
    char prompt[PROMPT_MAX];
    bool is_asking;
    bool has_ended;
    struct loop_watch *watch; /* of `in`, while a line is asked for */
    struct loop_watch *soon;  /* for what is already here */

    /* with a terminal */
    EditLine *el;
    History *history;
    FILE *in, *out, *err;
    char keys[256]; /* read and not yet taken by the editor */
    size_t n_keys;
    mbstate_t shift;
    struct buf paste; /* that has begun and not ended */
    bool is_pasting;
    bool is_hung_up;

    /* without one */
    struct buf pending; /* read and not yet given out as lines */
    bool is_exhausted;
};

/* --- the end of asking --- */

static void stop_asking(struct editor *e)
{
    e->is_asking = false;
    loop_watch_free(e->watch);
    e->watch = NULL;
    loop_timer_stop(e->soon);
    if (e->el) { /* the terminal as it was */
        (void)el_set(e->el, EL_UNBUFFERED, 0);
        (void)file_write_all(e->options.out, PASTE_OFF, sizeof(PASTE_OFF) - 1);
    }
}

static void end(struct editor *e, struct error *err)
{
    if (e->has_ended)
        return;
    e->has_ended = true;
    stop_asking(e);
    e->events->on_end(e->owner, err);
}

/* --- with a terminal --- */

static bool has_input(const struct editor *e, int wait_ms)
{
    struct pollfd p = {.fd = e->options.in, .events = POLLIN};

    return poll(&p, 1, wait_ms) > 0;
}

static bool read_keys(struct editor *e)
{
    ssize_t n = read(e->options.in, e->keys + e->n_keys, sizeof(e->keys) - e->n_keys);

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return true;
    if (n <= 0)
        e->is_hung_up = true;
    else
        e->n_keys += (size_t)n;
    return n > 0;
}

static void drop_keys(struct editor *e, size_t count)
{
    e->n_keys -= count;
    memmove(e->keys, e->keys + count, e->n_keys);
}

/* The editor asks for a character in the middle of a key's sequence, too, and would wait for ever.
 * Returns 1, or 0 when there is none: it then forgets the key it had begun. */
static int next_character(EditLine *el, wchar_t *ret_character)
{
    struct editor *e;

    (void)el_get(el, EL_CLIENTDATA, &e);
    for (;;) {
        size_t used =
            e->n_keys ? mbrtowc(ret_character, e->keys, e->n_keys, &e->shift) : (size_t)-2;

        if (used != (size_t)-1 && used != (size_t)-2) {
            drop_keys(e, used ? used : 1); /* NUL is Ctrl-Space */
            return 1;
        }
        memset(&e->shift, 0, sizeof(e->shift));
        if (used == (size_t)-1) { /* not of this terminal's character set */
            drop_keys(e, 1);
            continue;
        }
        if (e->n_keys == sizeof(e->keys) || !has_input(e, KEY_MS) || !read_keys(e))
            return 0;
    }
}

static char *prompt_of(EditLine *el)
{
    struct editor *e;

    (void)el_get(el, EL_CLIENTDATA, &e);
    return e->prompt;
}

void editor_words_add(struct editor_words *words, const char *word, const char *prefix)
{
    char **grown;
    char *copy;

    if (strncmp(word, prefix, strlen(prefix)) != 0)
        return;
    grown = realloc(words->items, (words->count + 1) * sizeof(*grown));
    copy = grown ? strdup(word) : NULL;
    if (grown)
        words->items = grown;
    if (copy)
        words->items[words->count++] = copy;
}

static void words_done(struct editor_words *words)
{
    for (size_t i = 0; i < words->count; i++)
        free(words->items[i]);
    free(words->items);
}

static int compare_words(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static size_t common_length(const struct editor_words *words)
{
    size_t len = strlen(words->items[0]);

    for (size_t i = 1; i < words->count; i++)
        for (size_t at = 0; at < len; at++)
            if (words->items[i][at] != words->items[0][at])
                len = at;
    return len;
}

static void list_words(struct editor *e, const struct editor_words *words)
{
    struct winsize size = {0};
    size_t width = 0, columns, shown = words->count < WORDS_SHOWN ? words->count : WORDS_SHOWN;

    for (size_t i = 0; i < shown; i++)
        if (strlen(words->items[i]) + 2 > width)
            width = strlen(words->items[i]) + 2;
    (void)ioctl(e->options.out, TIOCGWINSZ, &size);
    columns = size.ws_col / width ? size.ws_col / width : 1;
    (void)fputs("\n", e->out);
    for (size_t i = 0; i < shown; i++)
        (void)fprintf(e->out, "%-*s%s", (int)width, words->items[i],
                      (i + 1) % columns == 0 || i + 1 == shown ? "\n" : "");
    if (shown < words->count)
        (void)fprintf(e->out, "and %zu more\n", words->count - shown);
    (void)fflush(e->out);
}

/* Not a function of the editor's, which forgets to free the names of those. */
static void complete(struct editor *e)
{
    cleanup(words_done) struct editor_words words = {0};
    const LineInfo *info = el_line(e->el);
    cleanup_free char *line = strndup(info->buffer, (size_t)(info->cursor - info->buffer));
    size_t typed, common;

    if (!line)
        return;
    if (strspn(line, " \t") == strlen(line)) { /* nothing to complete: it indents */
        (void)el_insertstr(e->el, "    ");
        return;
    }
    if (e->events->complete)
        e->events->complete(e->owner, line, &words);
    if (!words.count || words.start > strlen(line)) {
        el_beep(e->el);
        return;
    }
    qsort(words.items, words.count, sizeof(*words.items), compare_words);
    typed = strlen(line + words.start);
    common = common_length(&words);
    if (common > typed) {
        words.items[0][common] = '\0';
        (void)el_insertstr(e->el, words.items[0] + typed);
    } else if (words.count > 1) {
        list_words(e, &words);
    }
}

static void take_line(struct editor *e, const char *text, size_t len)
{
    cleanup_free char *line = strndup(text, len);

    stop_asking(e);
    if (line)
        e->events->on_line(e->owner, line);
}

/* --- what is pasted --- */

/* Waits for the rest of a sequence that has begun. */
static bool begins_paste(struct editor *e)
{
    while (e->n_keys < PASTE_MARK && memcmp(e->keys, PASTE_BEGIN, e->n_keys) == 0)
        if (!has_input(e, KEY_MS) || !read_keys(e))
            return false;
    return e->n_keys >= PASTE_MARK && memcmp(e->keys, PASTE_BEGIN, PASTE_MARK) == 0;
}

/* Shows what was pasted in visible form: it may come from anywhere. */
static void echo(struct editor *e, const char *text)
{
    cleanup(buf_done) struct buf visible = BUF_OF(SIZE_MAX / 2);
    struct terminal terminal;

    terminal_begin(&terminal, false);
    if (terminal_feed(&terminal, text, strlen(text), &visible, NULL) == 0 &&
        terminal_finish(&terminal, &visible, NULL) == 0 && buf_add_str(&visible, "\n", NULL) == 0)
        (void)file_write_all(e->options.out, buf_str(&visible), visible.len);
}

/* One line goes into the line, as if it had been typed. Several are given out as they are. */
static void finish_paste(struct editor *e)
{
    const LineInfo *info = el_line(e->el);
    cleanup_free char *text = NULL;

    for (char *at = e->paste.data; at && at < e->paste.data + e->paste.len; at++)
        *at = (char)(*at == '\r' ? '\n' : *at ? *at : ' ');
    if (!e->events->on_paste || !strchr(buf_str(&e->paste), '\n')) {
        (void)el_insertstr(e->el, buf_str(&e->paste));
        (void)el_set(e->el, EL_REFRESH);
        buf_clear(&e->paste);
        return;
    }
    if (asprintf(&text, "%.*s%s%.*s", (int)(info->cursor - info->buffer), info->buffer,
                 buf_str(&e->paste), (int)(info->lastchar - info->cursor), info->cursor) < 0)
        text = NULL;
    echo(e, buf_str(&e->paste));
    buf_clear(&e->paste);
    stop_asking(e);
    if (text)
        e->events->on_paste(e->owner, text);
}

/* True: the keys were of a paste. */
static bool take_paste(struct editor *e)
{
    size_t before = e->paste.len;
    char *end;

    if (!e->is_pasting && !begins_paste(e))
        return false;
    if (!e->is_pasting) {
        e->is_pasting = true;
        drop_keys(e, PASTE_MARK);
        return true;
    }
    /* One that is too long keeps its end out, so that the marks are still seen. */
    if (buf_add(&e->paste, e->keys, e->n_keys, NULL) < 0) {
        buf_clear(&e->paste);
        before = 0;
        (void)buf_add(&e->paste, e->keys, e->n_keys, NULL);
    }
    e->n_keys = 0;
    before = before > PASTE_MARK ? before - PASTE_MARK : 0;
    end = memmem(e->paste.data + before, e->paste.len - before, PASTE_END, PASTE_MARK);
    if (!end)
        return true;
    e->is_pasting = false;
    e->n_keys = (size_t)(e->paste.data + e->paste.len - end) - PASTE_MARK;
    memcpy(e->keys, end + PASTE_MARK, e->n_keys);
    e->paste.len = (size_t)(end - e->paste.data);
    *end = '\0';
    finish_paste(e);
    return true;
}

/* Input after the end of a line waits for the next call. */
static void take_keys(struct editor *e)
{
    while (e->is_asking && e->n_keys) {
        int n = 0;
        const char *line;

        if (take_paste(e))
            continue;
        if (e->keys[0] == '\t') {
            drop_keys(e, 1);
            complete(e);
            (void)el_set(e->el, EL_REFRESH);
            continue;
        }
        line = el_gets(e->el, &n);
        if (line && n > 0 && line[n - 1] == '\n')
            take_line(e, line, (size_t)n - 1);
        else if (line && n == 1 && line[0] == END_KEY)
            end(e, NULL);
        else if (line && (size_t)n > e->options.line_max)
            editor_discard(e, e->prompt);
    }
}

static void on_key(void *arg)
{
    struct editor *e = arg;

    if (e->n_keys < sizeof(e->keys))
        (void)read_keys(e);
    take_keys(e);
    if (e->is_hung_up)
        end(e, NULL);
}

static void ask_terminal(struct editor *e)
{
    (void)file_write_all(e->options.out, PASTE_ON, sizeof(PASTE_ON) - 1);
    (void)el_set(e->el, EL_UNBUFFERED, 1); /* shows the prompt */
    (void)fflush(e->out);
    e->watch = loop_watch_fd(e->loop, e->options.in, LOOP_READ, on_key, e);
    if (e->n_keys)
        loop_timer_start(e->soon, 0);
}

/* --- without a terminal --- */

/* True when a line, or the end, was delivered. */
static bool give_line(struct editor *e)
{
    char *newline = e->pending.len ? memchr(e->pending.data, '\n', e->pending.len) : NULL;
    size_t len = newline ? (size_t)(newline - e->pending.data) : e->pending.len;
    cleanup_free char *line = NULL;

    if (!newline && !e->is_exhausted)
        return false;
    if (!newline && !len) {
        end(e, NULL);
        return true;
    }
    line = strndup(buf_str(&e->pending), len);
    buf_consume(&e->pending, len + (newline ? 1 : 0));
    stop_asking(e);
    if (line)
        e->events->on_line(e->owner, line);
    return true;
}

static void fail(struct editor *e, struct error *err)
{
    end(e, err);
    error_done(err);
}

static void read_plain(struct editor *e)
{
    struct error err = {0};
    ssize_t n;

    if (buf_reserve(&e->pending, 4096, &err) < 0) {
        error_done(&err);
        error_set(&err, E_TOO_LARGE, "a line is longer than %zu bytes", e->options.line_max);
        fail(e, &err);
        return;
    }
    n = read(e->options.in, e->pending.data + e->pending.len, 4096);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n < 0) {
        error_errno(&err, "read the input");
        fail(e, &err);
        return;
    }
    e->pending.len += (size_t)n;
    e->is_exhausted = n == 0;
}

static void on_plain(void *arg)
{
    struct editor *e = arg;

    read_plain(e);
    if (e->is_asking)
        (void)give_line(e);
}

/* Reads input that has already arrived, outside of the caller's stack. */
static void on_soon(void *arg)
{
    struct editor *e = arg;

    if (e->el) {
        take_keys(e);
        return;
    }
    (void)give_line(e);
}

static void ask_plain(struct editor *e)
{
    e->watch = loop_watch_fd(e->loop, e->options.in, LOOP_READ, on_plain, e);
    loop_timer_start(e->soon, 0);
}

/* --- life --- */

static void add_to_history(void *user, const char *line)
{
    struct editor *e = user;
    HistEvent event;

    (void)history(e->history, &event, H_ENTER, line);
}

/* Private copies, so that the editor's streams can be closed without closing ours. */
static FILE *open_copy(int fd, const char *mode)
{
    cleanup_close int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    FILE *file = copy >= 0 ? fdopen(copy, mode) : NULL;

    if (file)
        (void)take_fd(copy);
    return file;
}

static int open_terminal(struct editor *e, struct error *err)
{
    HistEvent event;

    e->in = open_copy(e->options.in, "r");
    e->out = open_copy(e->options.out, "w");
    e->err = open_copy(e->options.out, "w");
    e->history = history_init();
    if (e->in && e->out && e->err && e->history)
        e->el = el_init("belljar", e->in, e->out, e->err);
    if (!e->el)
        return error_set(err, E_SYSTEM, "cannot set up the line editor");
    (void)history(e->history, &event, H_SETSIZE, (int)HISTORY_LINES);
    (void)history(e->history, &event, H_SETUNIQUE, 1);
    (void)el_set(e->el, EL_CLIENTDATA, e);
    (void)el_set(e->el, EL_EDITOR, "emacs");
    (void)el_set(e->el, EL_PROMPT, prompt_of);
    (void)el_set(e->el, EL_HIST, history, e->history);
    (void)el_set(e->el, EL_GETCFN, next_character);
    /* The editor's own search waits for keys by itself, which would stop the loop: the arrows, and
     * Ctrl-R, look for lines that begin as this one does. */
    (void)el_set(e->el, EL_BIND, "^R", "ed-search-prev-history", NULL);
    (void)el_set(e->el, EL_BIND, "\033[A", "ed-search-prev-history", NULL);
    (void)el_set(e->el, EL_BIND, "\033[B", "ed-search-next-history", NULL);
    (void)el_set(e->el, EL_BIND, "\033OA", "ed-search-prev-history", NULL);
    (void)el_set(e->el, EL_BIND, "\033OB", "ed-search-next-history", NULL);
    (void)el_source(e->el, NULL);
    return 0;
}

static bool is_capable(const struct editor_options *options)
{
    const char *term = getenv("TERM");

    return isatty(options->in) && isatty(options->out) && term && *term &&
           strcmp(term, "dumb") != 0;
}

static void open_history(struct editor *e)
{
    cleanup_error struct error ignored = {0};

    if (e->options.history_path)
        e->history_path = strdup(e->options.history_path);
    if (e->history_path && history_file_load(e->history_path, add_to_history, e, &ignored) < 0) {
        free(e->history_path);
        e->history_path = NULL;
    }
}

int editor_new(struct loop *loop, const struct editor_options *options,
               const struct editor_events *events, void *owner, struct editor **ret_editor,
               struct error *err)
{
    struct editor *e = calloc(1, sizeof(*e));

    if (!e)
        return error_memory(err);
    *e = (struct editor){.loop = loop, .options = *options, .events = events, .owner = owner};
    buf_init(&e->pending, options->line_max + 4096);
    buf_init(&e->paste, options->line_max);
    e->soon = loop_timer(loop, on_soon, e);
    if (!e->soon) {
        editor_free(e);
        return error_memory(err);
    }
    if (is_capable(options)) {
        if (open_terminal(e, err) < 0) {
            editor_free(e);
            return -1;
        }
        open_history(e);
    }
    *ret_editor = e;
    return 0;
}

void editor_free(struct editor *e)
{
    if (!e)
        return;
    if (e->is_asking)
        stop_asking(e);
    loop_watch_free(e->soon);
    if (e->el)
        el_end(e->el);
    if (e->history)
        history_end(e->history);
    cleanup_fclose_p(&e->in);
    cleanup_fclose_p(&e->out);
    cleanup_fclose_p(&e->err);
    buf_done(&e->pending);
    buf_done(&e->paste);
    free(e->history_path);
    free(e);
}

bool editor_is_interactive(const struct editor *e)
{
    return isatty(e->options.in);
}

void editor_ask(struct editor *e, const char *prompt)
{
    e->is_asking = true;
    (void)snprintf(e->prompt, sizeof(e->prompt), "%s", prompt);
    if (e->el) {
        ask_terminal(e);
        return;
    }
    if (editor_is_interactive(e)) /* a terminal that can do nothing else */
        (void)file_write_all(e->options.out, e->prompt, strlen(e->prompt));
    ask_plain(e);
}

void editor_discard(struct editor *e, const char *prompt)
{
    if (!e->is_asking)
        return;
    stop_asking(e);
    e->n_keys = 0;
    e->is_pasting = false;
    buf_clear(&e->paste);
    editor_ask(e, prompt);
}

void editor_refresh(struct editor *e)
{
    if (!e->el)
        return;
    el_resize(e->el);
    if (e->is_asking) {
        (void)el_set(e->el, EL_PREP_TERM, 1);
        (void)el_set(e->el, EL_REFRESH);
        (void)fflush(e->out);
    }
}

void editor_remember(struct editor *e, const char *line)
{
    cleanup_error struct error ignored = {0};
    HistEvent event;

    if (!e->history || !*line)
        return;
    if (history(e->history, &event, H_FIRST) == 0 && strcmp(event.str, line) == 0)
        return;
    (void)history(e->history, &event, H_ENTER, line);
    if (e->history_path)
        (void)history_file_add(e->history_path, line, &ignored);
}
