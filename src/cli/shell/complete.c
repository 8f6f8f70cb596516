/* Completion with the Tab key. Commands and files are completed here; in Python the session itself
 * is asked, by a cell that library/_belljar_notebook.py answers. It runs under the limits of the
 * session and a short one of its own. What it says is a program's word: it is checked, and shown as
 * text. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "cli/shell/shell.h"
#include "sandbox/files.h"

/* Seconds that a program may take to say how a word goes on. */
#define COMPLETE_S 2

/* Words that are taken of its answer. */
#define WORDS_MAX 1000

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789"

void shell_learn(struct shell *shell, const char *text)
{
    while (*(text += strcspn(text, LETTERS))) {
        size_t len = strspn(text, LETTERS);
        bool is_known = len < 3 || (*text >= '0' && *text <= '9');

        for (size_t i = 0; i < shell->n_names && !is_known; i++)
            is_known = strncmp(shell->names[i], text, len) == 0 && !shell->names[i][len];
        if (!is_known && shell->n_names < SHELL_NAMES_MAX &&
            (shell->names[shell->n_names] = strndup(text, len)))
            shell->n_names++;
        text += len;
    }
}

/* "data/or" is the directory "data/" and the beginning of a name. */
static void add_names(struct editor_words *words, const char *typed, const char *dir,
                      const char *name, bool is_directory)
{
    cleanup_free char *word = NULL;

    if (asprintf(&word, "%s%s%s", dir, name, is_directory ? "/" : "") < 0)
        word = NULL;
    if (word)
        editor_words_add(words, word, typed);
}

static void host_files(const char *typed, struct editor_words *words)
{
    const char *slash = strrchr(typed, '/');
    cleanup_free char *dir = strndup(typed, slash ? (size_t)(slash + 1 - typed) : 0);
    cleanup_closedir DIR *stream = dir ? opendir(*dir ? dir : ".") : NULL;
    struct dirent *entry;

    while (stream && (entry = readdir(stream)))
        if (entry->d_name[0] != '.')
            add_names(words, typed, dir, entry->d_name, entry->d_type == DT_DIR);
}

/* Names of a program's own making: one that is more than letters is not offered. */
static bool is_plain(const char *name)
{
    return strspn(name, LETTERS "-./+=@%,") == strlen(name);
}

static void workspace_files(const struct shell *shell, const char *typed,
                            struct editor_words *words)
{
    const char *slash = strrchr(typed, '/');
    cleanup_free char *dir = strndup(typed, slash ? (size_t)(slash - typed) : 0);
    cleanup(files_list_done) struct files_list list = {0};
    const struct files *files = shell->session ? session_files(shell->session) : NULL;

    if (!dir || !files || files_list(files, dir, &(struct files_page){.depth = 1}, &list, NULL) < 0)
        return;
    for (size_t i = 0; i < list.count; i++)
        if (is_plain(list.entries[i].path))
            add_names(words, typed, "", list.entries[i].path,
                      list.entries[i].kind == FILES_DIRECTORY);
}

static void checkpoint_names(const struct shell *shell, const char *typed,
                             struct editor_words *words)
{
    const char *name;

    for (size_t i = 0; shell->session && (name = session_checkpoint_name(shell->session, i)); i++)
        editor_words_add(words, name, typed);
}

static void language_words(const struct shell *shell, const char *typed, struct editor_words *words)
{
    for (size_t i = 0; i < shell->n_names; i++)
        editor_words_add(words, shell->names[i], typed);
}

/* The beginning of the last word: of letters, or of a path within quotes. */
static const char *last_word(const char *line, const char *ends)
{
    const char *word = line;

    for (const char *at = line; *at; at++)
        if (strchr(ends, *at))
            word = at + 1;
    return word;
}

static void complete_command(const struct shell *shell, const char *line,
                             struct editor_words *words)
{
    const char *word = last_word(line, " ");
    char command[32];

    words->start = (size_t)(word - line);
    (void)snprintf(command, sizeof(command), "%.*s", (int)strcspn(line, " "), line);
    if (word == line) {
        shell_command_names(words, word);
        return;
    }
    if (shell_command_takes(command) == 'h')
        host_files(word, words);
    else if (shell_command_takes(command) == 's')
        workspace_files(shell, word, words);
    else if (shell_command_takes(command) == 'c')
        checkpoint_names(shell, word, words);
    else if (strcmp(command, ":lang") == 0) {
        for (size_t i = 0; i < RUN_LANGUAGES; i++)
            editor_words_add(words, languages[i].name, word);
    }
}

/* Completes from the files and from words that were typed before, in Bash. */
static void complete_bash(const struct shell *shell, const char *line, struct editor_words *words)
{
    const char *path = last_word(line, " \t'\"=<>|;&(");
    const char *name = line + strlen(line);

    while (name > line && strchr(LETTERS, name[-1]))
        name--;
    words->start = (size_t)(path - line);
    workspace_files(shell, path, words);
    if (words->count)
        return;
    words->start = (size_t)(name - line);
    if (*name)
        language_words(shell, name, words);
}

/* --- Python --- */

/* {"start": bytes, "words": [...]}. What has another form counts for nothing. */
static void read_words(const char *json, struct editor_words *words)
{
    static const struct json_text_limits limits = {.bytes = MIB, .depth = 2};
    cleanup_json json_t *answer = NULL;
    const json_t *start, *word;
    size_t i;

    if (json_text_load(json, strlen(json), &limits, &answer, NULL) < 0)
        return;
    start = json_object_get(answer, "start");
    if (!json_is_integer(start) || json_integer_value(start) < 0)
        return;
    words->start = (size_t)json_integer_value(start);
    json_array_foreach(json_object_get(answer, "words"), i, word)
    {
        const char *text = json_string_value(word);

        /* No command of the prompt: a program does not get to type those. */
        if (i < WORDS_MAX && text && (words->start > 0 || *text != ':'))
            editor_words_add(words, text, "");
    }
}

static void on_done(void *user, const struct run *run)
{
    struct shell *shell = user;
    cleanup(editor_words_done) struct editor_words words = {0};

    shell->is_completing = false;
    if (run->result.value_json && run->result.status == RUN_SUCCESS)
        read_words(run->result.value_json, &words);
    if (run->result.state == RUN_STATE_LOST)
        editor_note(shell->editor, "belljar: completing took too long, and the kernel had to be "
                                   "ended; its variables are lost");
    if (shell->is_interrupted)
        shell_discard_line(shell);
    else
        editor_offer(shell->editor, &words);
}

static int ask_session(struct shell *shell, const char *text, size_t cursor, struct error *err)
{
    cleanup(buf_done) struct buf code = BUF_OF((size_t)shell->config->code_bytes);
    struct backend_cell cell = {
        .language = RUN_PYTHON, .timeout_s = COMPLETE_S, .on_done = on_done, .user = shell};

    if (buf_printf(&code, err, "%%%%complete\n%.*s", (int)cursor, text) < 0)
        return -1;
    cell.code = buf_str(&code);
    cell.len = code.len;
    shell->is_completing = true;
    shell->is_interrupted = false;
    if (shell->backend->ops->run(shell->backend, &cell, err) == 0)
        return 0;
    shell->is_completing = false;
    return -1;
}

void shell_complete(void *owner, const char *text, size_t cursor)
{
    struct shell *shell = owner;
    cleanup(editor_words_done) struct editor_words words = {0};
    cleanup_error struct error ignored = {0};
    cleanup_free char *line = strndup(text, cursor);

    if (line && *line == ':')
        complete_command(shell, line, &words);
    else if (line && shell->language != RUN_PYTHON)
        complete_bash(shell, line, &words);
    else if (line && ask_session(shell, text, cursor, &ignored) == 0)
        return;
    editor_offer(shell->editor, &words);
}
