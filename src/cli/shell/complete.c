/* Completion with the Tab key: commands, files of the session and of the host, and names that were
 * used. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/shell/shell.h"
#include "sandbox/files.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789"

static const char *const python_words[] = {
    "and",    "as",      "assert", "async",  "await",  "break",   "class",      "continue",
    "def",    "del",     "elif",   "else",   "except", "finally", "for",        "from",
    "global", "if",      "import", "in",     "is",     "lambda",  "nonlocal",   "not",
    "or",     "pass",    "raise",  "return", "try",    "while",   "with",       "yield",
    "True",   "False",   "None",   "print",  "len",    "range",   "sorted",     "list",
    "dict",   "set",     "tuple",  "str",    "int",    "float",   "isinstance", "enumerate",
    "zip",    "display", "open",   "sum",    "min",    "max",
};

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
    for (size_t i = 0; shell->language == RUN_PYTHON && i < ARRAY_SIZE(python_words); i++)
        editor_words_add(words, python_words[i], typed);
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
        editor_words_add(words, "python", word);
        editor_words_add(words, "bash", word);
    }
}

void shell_complete(void *owner, const char *line, struct editor_words *words)
{
    const struct shell *shell = owner;
    const char *path = last_word(line, shell->language == RUN_PYTHON ? "'\"" : " \t'\"=<>|;&(");
    const char *name = line + strlen(line);
    bool is_path = shell->language == RUN_BASH || path != line;

    if (*line == ':' && !shell->text.len) {
        complete_command(shell, line, words);
        return;
    }
    while (name > line && strchr(LETTERS, name[-1]))
        name--;
    if (is_path) {
        words->start = (size_t)(path - line);
        workspace_files(shell, path, words);
        if (words->count)
            return;
    }
    words->start = (size_t)(name - line);
    if (*name)
        language_words(shell, name, words);
}
