#include "terminal/editor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/terminal_text.h"
#include "base/utf8.h"
#include "terminal/editor_internal.h"

/* A key that sends several bytes sends them at once; a lone Escape is known by what does not
 * follow. */
#define ESCAPE_MS 100

#define READ_SIZE 4096

/* A terminal that was asked to puts marks around what is pasted. */
#define PASTE_ON  "\033[?2004h"
#define PASTE_OFF "\033[?2004l"

static void say(const struct editor *e, const char *text)
{
    (void)file_write_all(e->options.out, text, strlen(text));
}

/* --- the terminal's mode --- */

/* Keys come one by one and are not shown. Signals stay: Ctrl-C, Ctrl-Z. */
static void set_raw(struct editor *e)
{
    struct termios mode;

    if (e->is_raw || tcgetattr(e->options.in, &e->before) < 0)
        return;
    mode = e->before;
    mode.c_lflag &= ~(tcflag_t)(ICANON | ECHO | IEXTEN);
    mode.c_iflag &= ~(tcflag_t)(IXON | INLCR | IGNCR | ISTRIP);
    mode.c_iflag |= ICRNL;
    mode.c_cc[VMIN] = 1;
    mode.c_cc[VTIME] = 0;
    e->is_raw = tcsetattr(e->options.in, TCSADRAIN, &mode) == 0;
    say(e, PASTE_ON);
}

static void restore(struct editor *e)
{
    if (!e->is_raw)
        return;
    say(e, PASTE_OFF);
    (void)tcsetattr(e->options.in, TCSADRAIN, &e->before);
    e->is_raw = false;
}

/* --- the end of asking --- */

void editor_stop(struct editor *e)
{
    e->is_asking = e->is_completing = false;
    loop_watch_free(e->watch);
    e->watch = NULL;
    loop_timer_stop(e->soon);
    loop_timer_stop(e->escape);
    restore(e);
}

void editor_end(struct editor *e, struct error *err)
{
    if (e->has_ended)
        return;
    e->has_ended = true;
    editor_stop(e);
    e->events->on_end(e->owner, err);
}

void editor_give(struct editor *e)
{
    cleanup_free char *text = strdup(buf_str(&e->line.text));

    editor_leave(e, "");
    line_clear(&e->line);
    recall_reset(&e->recall);
    editor_stop(e);
    if (text)
        e->events->on_line(e->owner, text);
}

/* --- reading --- */

static void read_input(struct editor *e)
{
    struct error err = {0};
    ssize_t n;

    if (buf_reserve(&e->input, READ_SIZE, &err) < 0) {
        error_done(&err);
        error_set(&err, E_TOO_LARGE, "a line is longer than %zu bytes", e->options.line_max);
        editor_end(e, &err);
        error_done(&err);
        return;
    }
    n = read(e->options.in, e->input.data + e->input.len, READ_SIZE);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n < 0 && !e->is_capable) {
        error_errno(&err, "read the input");
        editor_end(e, &err);
        error_done(&err);
        return;
    }
    if (n > 0)
        e->input.len += (size_t)n;
    else
        e->is_exhausted = true; /* of a terminal: it was hung up */
}

/* --- keys --- */

/* Keys behind the end of a cell, or behind Tab, wait. */
static void take_keys(struct editor *e)
{
    size_t at = 0;

    while (e->is_asking && !e->is_completing && at < e->input.len) {
        struct key key;

        at += keys_take(&e->keys, e->input.data[at], &key);
        e->is_burst = at < e->input.len;
        if (key.kind != KEY_NONE)
            editor_press(e, &key);
    }
    buf_consume(&e->input, at);
    if (!e->is_asking)
        return;
    editor_paint(e);
    if (keys_is_open(&e->keys))
        loop_timer_start(e->escape, ESCAPE_MS);
    else
        loop_timer_stop(e->escape);
}

static void on_escape(void *arg)
{
    struct editor *e = arg;
    struct key key;

    keys_flush(&e->keys, &key);
    if (!e->is_asking || e->is_completing || key.kind == KEY_NONE)
        return;
    editor_press(e, &key);
    editor_paint(e);
}

/* --- plain lines --- */

/* True when a line, or the end, was delivered. */
static bool give_line(struct editor *e)
{
    char *newline = e->input.len ? memchr(e->input.data, '\n', e->input.len) : NULL;
    size_t len = newline ? (size_t)(newline - e->input.data) : e->input.len;
    cleanup_free char *line = NULL;

    if (!newline && !e->is_exhausted)
        return false;
    if (!newline && !len) {
        editor_end(e, NULL);
        return true;
    }
    line = strndup(buf_str(&e->input), len);
    buf_consume(&e->input, len + (newline ? 1 : 0));
    editor_stop(e);
    if (line)
        e->events->on_line(e->owner, line);
    return true;
}

/* --- the loop --- */

static void take_input(struct editor *e)
{
    if (!e->is_asking)
        return;
    if (e->is_capable)
        take_keys(e);
    else
        (void)give_line(e);
}

static void on_readable(void *arg)
{
    struct editor *e = arg;

    /* While Tab is being answered, keys wait where they are. */
    if (e->is_completing && e->input.len >= READ_SIZE)
        return;
    read_input(e);
    take_input(e);
    if (e->is_asking && e->is_exhausted && e->is_capable)
        editor_end(e, NULL);
}

/* Takes input that has already arrived, outside of the caller's stack. */
static void on_soon(void *arg)
{
    take_input(arg);
}

static void listen(struct editor *e)
{
    e->is_asking = true;
    e->watch = loop_watch_fd(e->loop, e->options.in, LOOP_READ, on_readable, e);
    if (e->input.len || e->is_exhausted)
        loop_timer_start(e->soon, 0);
}

void editor_ask(struct editor *e, const struct editor_prompt *prompt)
{
    (void)snprintf(e->first, sizeof(e->first), "%s", prompt->first);
    (void)snprintf(e->more, sizeof(e->more), "%s", prompt->more);
    e->language = prompt->language;
    e->has_ended = e->is_exhausted && e->has_ended; /* Ctrl-D was not meant */
    if (e->is_capable) {
        set_raw(e);
        e->is_searching = false;
        paint_forget(&e->paint);
        editor_paint(e);
    } else if (editor_is_interactive(e)) { /* a terminal that can do nothing else */
        say(e, e->first);
    }
    listen(e);
}

void editor_discard(struct editor *e, const struct editor_prompt *prompt)
{
    if (!e->is_asking)
        return;
    if (e->is_capable)
        editor_leave(e, "^C");
    else
        say(e, "^C\n");
    editor_stop(e);
    e->keys = (struct keys){0};
    buf_clear(&e->input);
    line_clear(&e->line);
    recall_reset(&e->recall);
    editor_ask(e, prompt);
}

void editor_resize(struct editor *e)
{
    if (e->is_capable && e->is_asking)
        editor_paint(e);
}

void editor_resume(struct editor *e)
{
    if (!e->is_capable || !e->is_asking)
        return;
    e->is_raw = false; /* whoever had the terminal gave it back in its own mode */
    set_raw(e);
    paint_forget(&e->paint);
    editor_paint(e);
}

void editor_remember(struct editor *e, const char *text)
{
    if (e->is_capable)
        recall_add(&e->recall, text);
}

/* --- completion --- */

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

void editor_words_done(struct editor_words *words)
{
    for (size_t i = 0; i < words->count; i++)
        free(words->items[i]);
    free(words->items);
    *words = (struct editor_words){0};
}

static int compare_words(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_safe(const char *word)
{
    size_t len = strlen(word);

    return len && utf8_valid(word, len) == len && !utf8_has_invisible(word, len);
}

/* It goes on from what was typed, in the same line: a word never takes the place of another. */
static bool goes_on(const char *word, const char *typed, size_t len)
{
    return strncmp(word, typed, len) == 0 && !word[strcspn(word, "\n\r\t")];
}

/* Words come from a program: what a person could not see is not offered. */
static void tidy_words(struct editor_words *words, const char *typed, size_t len)
{
    size_t n = 0;

    for (size_t i = 0; i < words->count; i++) {
        if (is_safe(words->items[i]) && goes_on(words->items[i], typed, len))
            words->items[n++] = words->items[i];
        else
            free(words->items[i]);
    }
    words->count = n;
    if (n)
        qsort(words->items, n, sizeof(*words->items), compare_words);
    for (size_t i = n; i > 1; i--)
        if (strcmp(words->items[i - 1], words->items[i - 2]) == 0) {
            free(words->items[i - 1]);
            memmove(words->items + i - 1, words->items + i,
                    (words->count - i) * sizeof(*words->items));
            words->count--;
        }
}

/* Counts the bytes that all of them begin with, in whole characters. */
static size_t common_length(const struct editor_words *words)
{
    size_t len = strlen(words->items[0]);

    for (size_t i = 1; i < words->count; i++)
        for (size_t at = 0; at < len; at++)
            if (words->items[i][at] != words->items[0][at])
                len = at;
    return utf8_valid(words->items[0], len);
}

void editor_offer(struct editor *e, struct editor_words *words)
{
    const char *text = buf_str(&e->line.text);
    size_t typed, common;

    if (!e->is_completing)
        return;
    e->is_completing = false;
    typed = words->start <= e->line.cursor ? e->line.cursor - words->start : 0;
    tidy_words(words, text + (e->line.cursor - typed), typed);
    if (!words->count || words->start > e->line.cursor ||
        utf8_valid(text, words->start) != words->start) {
        editor_beep(e);
    } else {
        common = common_length(words);
        if (common > typed) {
            words->items[0][common] = '\0';
            line_replace(&e->line, words->start, words->items[0]);
        } else if (words->count > 1) {
            editor_list_words(e, words);
        }
    }
    editor_paint(e);
    if (e->input.len)
        loop_timer_start(e->soon, 0);
}

void editor_note(struct editor *e, const char *line)
{
    if (!e->is_capable || !e->is_asking)
        return;
    editor_leave(e, "");
    say(e, line);
    say(e, "\r\n");
    editor_paint(e);
}

/* --- life --- */

static bool is_capable(const struct editor_options *options)
{
    const char *term = getenv("TERM");

    return isatty(options->in) && isatty(options->out) && term && *term &&
           strcmp(term, "dumb") != 0;
}

int editor_new(struct loop *loop, const struct editor_options *options,
               const struct editor_events *events, void *owner, struct editor **ret_editor,
               struct error *err)
{
    struct editor *e = calloc(1, sizeof(*e));

    if (!e)
        return error_memory(err);
    *e = (struct editor){.loop = loop, .options = *options, .events = events, .owner = owner};
    buf_init(&e->input, options->line_max + READ_SIZE);
    line_init(&e->line, options->line_max);
    e->soon = loop_timer(loop, on_soon, e);
    e->escape = loop_timer(loop, on_escape, e);
    if (!e->soon || !e->escape) {
        editor_free(e);
        return error_memory(err);
    }
    e->is_capable = is_capable(options);
    if (e->is_capable)
        recall_open(&e->recall, options->history_path);
    e->options.history_path = NULL; /* was only lent */
    *ret_editor = e;
    return 0;
}

void editor_free(struct editor *e)
{
    if (!e)
        return;
    if (e->is_asking)
        editor_stop(e);
    loop_watch_free(e->soon);
    loop_watch_free(e->escape);
    buf_done(&e->input);
    line_done(&e->line);
    recall_done(&e->recall);
    paint_done(&e->paint);
    free(e->searched_from);
    free(e);
}

bool editor_is_interactive(const struct editor *e)
{
    return isatty(e->options.in);
}

bool editor_is_capable(const struct editor *e)
{
    return e->is_capable && !e->is_exhausted;
}
