/* Lines that begin with a colon: what a person does with a session beside running cells in it. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/language.h"
#include "base/suggest.h"
#include "base/terminal_text.h"
#include "cli/shell/shell.h"
#include "engine/session_files.h"
#include "sandbox/files.h"

#define WORDS_MAX 4

/* Files of one listing; a directory with more is asked for by name. */
#define LISTED_MAX 500

struct command {
    const char *name;
    const char *takes; /* as --help has it */
    size_t min, max;   /* words behind the name */
    char completes;    /* 'h' names of the host, 's' of the session, 'c' checkpoints */
    /* 0, -1, or 1: the answer comes later, and shell_ask() with it. */
    int (*run)(struct shell *shell, char **words, size_t count, struct error *err);
    const char *help;
};

static const struct command *commands(size_t *ret_count);

/* --- of the prompt --- */

static int do_help(struct shell *shell, char **words, size_t count, struct error *err)
{
    size_t n;
    const struct command *list = commands(&n);

    (void)shell;
    (void)words;
    (void)count;
    (void)err;
    for (size_t i = 0; i < n; i++) {
        char usage[64];

        (void)snprintf(usage, sizeof(usage), "%s %s", list[i].name, list[i].takes);
        shell_say("  %-24s %s", usage, list[i].help);
    }
    shell_say("Ctrl-C stops a cell and keeps its state; Ctrl-D ends the session");
    return 0;
}

static int do_quit(struct shell *shell, char **words, size_t count, struct error *err)
{
    (void)words;
    (void)count;
    (void)err;
    shell->exit_code = 0;
    if (shell_may_leave(shell))
        shell_end(shell);
    return 0;
}

static int do_lang(struct shell *shell, char **words, size_t count, struct error *err)
{
    const struct profile *profile;
    enum run_language language;

    (void)count;
    if (language_read(words[0], &language, err) < 0)
        return -1;
    /* A server checks its own profile. */
    if (!shell->remote && (profiles_get(shell->profiles, NULL, &profile, err) < 0 ||
                           profile_check_language(profile, language, err) < 0))
        return -1;
    shell->language = language;
    return 0;
}

/* --- of the session --- */

static int do_restart(struct shell *shell, char **words, size_t count, struct error *err)
{
    (void)words;
    (void)count;
    return session_restart(shell->session, shell->language, err);
}

static int do_limits(struct shell *shell, char **words, size_t count, struct error *err)
{
    struct session_info info;

    (void)words;
    (void)count;
    (void)err;
    session_info(shell->session, &info);
    shell_say("%-13s %s", "profile", info.profile);
    for (size_t i = 0; i < RUN_LIMIT_ROWS; i++) {
        const struct run_limit *limit = &run_limit_table[i];
        double value = run_limit_get(info.limits, limit);

        if (value == 0)
            shell_say("%-13s no limit", limit->name);
        else
            shell_say("%-13s %.15g %s%s", limit->name, value, run_limit_unit(limit),
                      limit->scope == RUN_LIMIT_OF_CELL ? " a cell" : "");
    }
    return 0;
}

static int do_checkpoint(struct shell *shell, char **words, size_t count, struct error *err)
{
    return count ? shell_checkpoint(shell, words[0], err) : shell_list_checkpoints(shell);
}

static int do_restore(struct shell *shell, char **words, size_t count, struct error *err)
{
    (void)count;
    return shell_restore(shell, words[0], err);
}

static int do_fork(struct shell *shell, char **words, size_t count, struct error *err)
{
    return shell_fork(shell, count ? words[0] : NULL, err);
}

static int do_sessions(struct shell *shell, char **words, size_t count, struct error *err)
{
    (void)words;
    (void)count;
    (void)err;
    return shell_list_sessions(shell);
}

static int do_switch(struct shell *shell, char **words, size_t count, struct error *err)
{
    (void)count;
    return shell_switch(shell, words[0], err);
}

/* --- files --- */

static int do_files(struct shell *shell, char **words, size_t count, struct error *err)
{
    cleanup(files_list_done) struct files_list list = {0};
    const struct files *files = session_need_files(shell->session, err);
    struct files_page page = {.depth = 1, .limit = LISTED_MAX};
    char dir[PATH_MAX] = "";

    if (count && files_path_check(words[0], strlen(words[0]), dir, err) < 0)
        return -1;
    if (!files || files_list(files, dir, &page, &list, err) < 0)
        return -1;
    for (size_t i = 0; i < list.count; i++) {
        const struct files_entry *entry = &list.entries[i];
        cleanup(buf_done) struct buf name = {0};

        buf_init(&name, (size_t)5 * PATH_MAX);
        if (files_path_escape(entry->path, &name, err) < 0)
            return -1;
        if (entry->kind == FILES_REGULAR)
            shell_say("%12llu  %s", (unsigned long long)entry->size, buf_str(&name));
        else
            shell_say("%12s  %s%s", files_kind_name(entry->kind), buf_str(&name),
                      entry->kind == FILES_DIRECTORY ? "/" : "");
    }
    if (!list.count)
        shell_say("no files");
    if (list.has_more || list.is_partial)
        shell_say("and more");
    return 0;
}

/* A shell outside has replaced `~` before a program sees it; here nobody has. */
static const char *host_path(const char *word, char path[PATH_MAX])
{
    const char *home = word[0] == '~' && (word[1] == '/' || !word[1]) ? getenv("HOME") : NULL;
    int n = home ? snprintf(path, PATH_MAX, "%s%s", home, word + 1) : -1;

    return n > 0 && n < PATH_MAX ? path : word;
}

static int open_host_file(const char *path, struct error *err)
{
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return error_errno(err, "`%s`", path);
    if (!S_ISREG(st.st_mode))
        return error_set(err, E_INVALID, "`%s` is not a file", path);
    return take_fd(fd);
}

static int copy_in(int from, struct session_writer *writer, struct error *err)
{
    char data[64 * 1024];
    ssize_t n;

    while ((n = read(from, data, sizeof(data))) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_errno(err, "read");
        if (session_write_feed(writer, data, (size_t)n, err) < 0)
            return -1;
    }
    return 0;
}

static int do_put(struct shell *shell, char **words, size_t count, struct error *err)
{
    static const struct files_write_options options = {.makes_parents = true};
    const char *name = count > 1 ? words[1] : basename(words[0]);
    char path[PATH_MAX];
    cleanup_close int from = open_host_file(host_path(words[0], path), err);
    struct session_writer writer;

    if (from < 0 || files_path_check(name, strlen(name), path, err) < 0 ||
        session_write_begin(&writer, shell->session, path, &options, err) < 0)
        return -1;
    if (copy_in(from, &writer, err) < 0) {
        session_write_abort(&writer);
        return -1;
    }
    if (session_write_commit(&writer, err) < 0)
        return -1;
    shell_say("/workspace/%s", path);
    return 0;
}

/* A file says of itself how large it is, and nothing of that needs to exist: no more than the
 * session could really hold is taken out of it. */
static int copy_out(int from, int to, uint64_t limit, struct error *err)
{
    char data[64 * 1024];
    uint64_t at = 0;
    ssize_t n;

    while ((n = files_read(from, at, data, sizeof(data), err)) > 0) {
        at += (uint64_t)n;
        if (at > limit)
            return error_set(err, E_TOO_LARGE, "it is larger than the session's disk");
        if (file_write_all(to, data, (size_t)n) < 0)
            return error_errno(err, "write");
    }
    return n < 0 ? -1 : 0;
}

static int create_host_file(const char *path, struct error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);

    if (fd < 0 && errno == EEXIST) {
        error_set(err, E_INVALID, "`%s` exists", path);
        return error_hint(err, "give it another name: :get NAME FILE");
    }
    return fd < 0 ? error_errno(err, "`%s`", path) : fd;
}

static int do_get(struct shell *shell, char **words, size_t count, struct error *err)
{
    char home[PATH_MAX];
    const char *target = count > 1 ? host_path(words[1], home) : basename(words[0]);
    const struct files *files = session_need_files(shell->session, err);
    cleanup_close int from = -1, to = -1;
    struct files_entry entry;
    struct session_info info;
    char path[PATH_MAX];

    session_info(shell->session, &info);
    if (!files || files_path_check(words[0], strlen(words[0]), path, err) < 0 ||
        files_open(files, path, &from, &entry, err) < 0)
        return -1;
    to = create_host_file(target, err);
    if (to < 0)
        return -1;
    if (copy_out(from, to, info.limits->disk_bytes, err) < 0) {
        (void)unlink(target);
        return error_wrap(err, "%s", words[0]);
    }
    shell_say("%s", target);
    return 0;
}

/* --- the table --- */

static const struct command table[] = {
    {":help", "", 0, 0, 0, do_help, "this list"},
    {":lang", "LANGUAGE", 1, 1, 0, do_lang, "the language of the next cells"},
    {":files", "[DIR]", 0, 1, 's', do_files, "what is in /workspace"},
    {":put", "FILE [NAME]", 1, 2, 'h', do_put, "copy one of your files into /workspace"},
    {":get", "NAME [FILE]", 1, 2, 's', do_get, "copy a file out of /workspace"},
    {":limits", "", 0, 0, 0, do_limits, "what the session may use"},
    {":checkpoint", "[NAME]", 0, 1, 0, do_checkpoint, "save variables and files as they are now"},
    {":restore", "NAME", 1, 1, 'c', do_restore, "go back to a checkpoint"},
    {":fork", "[N]", 0, 1, 0, do_fork, "copy the session; each copy continues from here"},
    {":sessions", "", 0, 0, 0, do_sessions, "list the copies"},
    {":switch", "N", 1, 1, 0, do_switch, "continue in another session"},
    {":changes", "[PATH]", 0, 1, 0, shell_show_changes, "what cells changed in :cow directories"},
    {":apply", "[--with-hidden] [PATH]", 0, 2, 0, shell_apply, "write these changes to disk"},
    {":discard", "[PATH]", 0, 1, 0, shell_discard, "forget these changes"},
    {":restart", "", 0, 0, 0, do_restart, "forget all variables; the files stay"},
    {":quit", "", 0, 0, 0, do_quit, "end the session, and everything in it; so does exit()"},
};

static const struct command *commands(size_t *ret_count)
{
    *ret_count = ARRAY_SIZE(table);
    return table;
}

void shell_command_names(struct editor_words *words, const char *prefix)
{
    for (size_t i = 0; i < ARRAY_SIZE(table); i++)
        editor_words_add(words, table[i].name, prefix);
}

char shell_command_takes(const char *command)
{
    for (size_t i = 0; i < ARRAY_SIZE(table); i++)
        if (strcmp(table[i].name, command) == 0)
            return table[i].completes;
    return 0;
}

/* Takes the line apart in place. Quotes keep a name with spaces together. Returns how many words
 * there are, also when there are more than fit. */
static size_t split(char *line, char **words)
{
    size_t count = 0;
    char *to = line;

    for (;;) {
        char quote = '\0', *word;

        line += strspn(line, " \t\r");
        if (!*line)
            return count;
        for (word = to; *line && (quote || !strchr(" \t\r", *line)); line++) {
            if (quote ? *line == quote : *line == '\'' || *line == '"')
                quote = (char)(quote ? '\0' : *line);
            else
                *to++ = *line;
        }
        line += *line != '\0';
        *to++ = '\0';
        if (count < WORDS_MAX)
            words[count] = word;
        count++;
    }
}

static int unknown(const char *word, struct error *err)
{
    const char *known[ARRAY_SIZE(table)], *nearest;

    for (size_t i = 0; i < ARRAY_SIZE(table); i++)
        known[i] = table[i].name;
    /* `belljar session` calls it `diff`. */
    nearest =
        strcmp(word, ":diff") == 0 ? ":changes" : suggest_nearest(word, known, ARRAY_SIZE(known));
    error_set(err, E_INVALID, "unknown command `%s`", word);
    if (nearest)
        return error_hint(err, "did you mean `%s`?", nearest);
    return error_hint(err, "`:help` lists the commands");
}

/* Words by which people leave other shells. */
static bool is_farewell(const char *line)
{
    static const char *const words[] = {":exit", ":q", "exit", "quit", "exit()", "quit()"};

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcmp(line, words[i]) == 0)
            return true;
    return false;
}

bool shell_is_command(const char *line)
{
    return *line == ':' || is_farewell(line);
}

static int run_command(struct shell *shell, char *line, struct error *err)
{
    char *words[WORDS_MAX] = {line}; /* a colon at least */
    size_t count = split(line, words);

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        const struct command *c = &table[i];

        if (strcmp(c->name, words[0]) != 0)
            continue;
        if (count - 1 < c->min || count - 1 > c->max)
            return error_set(err, E_INVALID, "it is `%s%s%s`", c->name, *c->takes ? " " : "",
                             c->takes);
        if (shell->remote && c->run != do_help && c->run != do_quit && c->run != do_lang) {
            error_set(err, E_UNSUPPORTED, "`%s` does not work in a session of a server", c->name);
            return error_hint(err, "see `belljar session --help`");
        }
        if (!shell->session && c->run != do_help && c->run != do_quit && c->run != do_lang)
            return error_set(err, E_NOT_FOUND, "the session has ended");
        return c->run(shell, words + 1, count - 1, err);
    }
    return unknown(words[0], err);
}

void shell_command(struct shell *shell, const char *line)
{
    cleanup_free char *copy = strdup(line);
    struct error err = {0};
    int r = !copy               ? error_memory(&err)
            : is_farewell(line) ? do_quit(shell, NULL, 0, &err)
                                : run_command(shell, copy, &err);

    if (r > 0)
        return;
    shell->exit_code = 0;
    if (r < 0)
        shell_fail(shell, &err);
    shell_ask(shell);
}
