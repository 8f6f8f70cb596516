/* Follows git's own files. Git obeys the files that they name as if they were in `.git`. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "sandbox/git_config.h"
#include "sandbox/survey_internal.h"

#define INCLUDES_MAX 10 /* as git has it */

static int refuse_large(const struct survey *s, const char *path, struct error *err)
{
    error_set(err, E_TOO_LARGE, "`%s%s%s` is too large to be read", path[0] == '/' ? "" : s->path,
              path[0] == '/' ? "" : "/", path);
    return error_hint(err, "git obeys it, so Belljar must read it; grant a directory "
                           "without it, or this one with :cow");
}

/* Reads a small file of the tree. 0: *ret_text is its content, or NULL where there is none. */
static int read_small(struct survey *s, int fd, const char *path, struct buf *text,
                      struct error *err)
{
    struct stat st;

    if (fd < 0)
        return 0;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return 0;
    if (++s->n_files > SURVEY_FILES_MAX || st.st_size > SURVEY_FILE_BYTES ||
        buf_read_fd(text, fd, NULL) < 0)
        return refuse_large(s, path, err);
    return 1;
}

static int open_file(struct survey *s, const char *path)
{
    cleanup_free char *real = NULL;

    /* A link is followed within the tree. */
    if (survey_resolve(s, "", path, NULL, &real, NULL) < 0 || !real)
        return -1;
    return survey_open(s, real, O_RDONLY);
}

/* The first line, without what is around it. */
static char *first_line(struct buf *text)
{
    char *line = text->data;

    if (!line || memchr(line, '\0', text->len))
        return NULL;
    line[strcspn(line, "\r\n")] = '\0';
    for (size_t n = strlen(line); n > 0 && (line[n - 1] == ' ' || line[n - 1] == '\t');)
        line[--n] = '\0';
    return *line ? line : NULL;
}

/* --- configuration --- */

struct reading {
    struct survey *s;
    const char *git;  /* the git directory */
    const char *base; /* the directory of that file; absolute where it is outside */
    char *worktree;   /* what core.worktree said, or NULL */
    unsigned depth;
    int failed;
    struct error *err;
};

/* Settings whose value is a command line. */
static bool is_command(const char *section, const char *name)
{
    static const struct {
        const char *section, *name;
    } commands[] = {
        {"core", "fsmonitor"},
        {"core", "sshcommand"},
        {"core", "editor"},
        {"core", "pager"},
        {"core", "askpass"},
        {"core", "gitproxy"},
        {"core", "alternaterefscommand"},
        {"credential", "helper"},
        {"diff", "external"},
        {"diff", "command"},
        {"diff", "textconv"},
        {"difftool", "cmd"},
        {"difftool", "path"},
        {"mergetool", "cmd"},
        {"mergetool", "path"},
        {"merge", "driver"},
        {"filter", "clean"},
        {"filter", "smudge"},
        {"filter", "process"},
        {"gpg", "program"},
        {"gpg", "defaultkeycommand"},
        {"sequence", "editor"},
        {"interactive", "difffilter"},
        {"remote", "uploadpack"},
        {"remote", "receivepack"},
        {"uploadpack", "packobjectshook"},
        {"receive", "proc"},
        {"trailer", "command"},
        {"trailer", "cmd"},
        {"sendemail", "smtpserver"},
        {"sendemail", "sendmailcmd"},
        {"sendemail", "tocmd"},
        {"sendemail", "cccmd"},
        {"web", "browser"},
        {"browser", "cmd"},
        {"browser", "path"},
        {"man", "cmd"},
        {"man", "path"},
        {"guitool", "cmd"},
        {"imap", "tunnel"},
        {"submodule", "update"},
        {"tar", "command"},
        {"hook", "command"},
    };

    if (strcmp(section, "alias") == 0 || strcmp(section, "pager") == 0)
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        if (strcmp(section, commands[i].section) == 0 && strcmp(name, commands[i].name) == 0)
            return true;
    return false;
}

/* "~/x" and plain paths. What begins otherwise with a tilde is another user's home. */
static char *expand(const struct reading *r, const char *value)
{
    if (value[0] != '~')
        return strdup(value);
    if (value[1] != '/' || !r->s->outside->homes[0])
        return NULL;
    return survey_join(r->s->outside->homes[0], value + 2);
}

static void lead(struct reading *r, const char *base, const char *value, const char *row)
{
    const struct protected_state sealed = {.row = protected_row(row)};

    if (!r->failed)
        r->failed = survey_lead(r->s, base, value, &sealed, r->err);
}

/* A relative path counts from the top of the worktree. Which one that is depends on who asks, so
 * all that it may be are taken: the directory of `.git`, core.worktree, the git directory itself.
 */
static void lead_everywhere(struct reading *r, const char *value, const char *row)
{
    cleanup_free char *above = NULL;
    const char *slash = strrchr(r->git, '/');

    if (value[0] == '/') {
        lead(r, "", value, row);
        return;
    }
    above = slash ? strndup(r->git, (size_t)(slash - r->git)) : strdup("");
    if (above)
        lead(r, above, value, row);
    lead(r, r->git, value, row);
    if (r->worktree)
        lead(r, r->worktree, value, row);
}

/* Protects what the command runs, wherever git may be run. */
static void lead_command(struct reading *r, const char *value)
{
    const char *slash = strrchr(r->git, '/');
    cleanup_free char *above = slash ? strndup(r->git, (size_t)(slash - r->git)) : strdup("");

    if (!r->failed && above)
        r->failed = survey_command(r->s, above, value, r->err);
    if (!r->failed && r->worktree)
        r->failed = survey_command(r->s, r->worktree, value, r->err);
}

static int read_config(struct reading *r, const char *path);
static int read_outside(struct reading *r, const char *path);

/* Relative to the file that includes it. One outside of the tree may still point into it. */
static void include(struct reading *r, const char *value)
{
    cleanup_free char *path = expand(r, value), *full = NULL, *real = NULL;
    struct reading inner = *r;

    if (!path || r->failed || r->depth >= INCLUDES_MAX)
        return;
    if (path[0] == '/')
        full = strdup(path);
    else
        full = survey_join(r->base, path);
    if (!full)
        return;
    lead(r, "", full, ".git/config");
    if (r->failed || survey_resolve(r->s, "", full, NULL, &real, NULL) < 0)
        return;
    inner.depth++;
    if (real)
        r->failed = read_config(&inner, real);
    else if (full[0] == '/')
        r->failed = read_outside(&inner, full);
    r->worktree = inner.worktree;
}

static void take_worktree(struct reading *r, const char *value)
{
    char *path = NULL;

    if (survey_resolve(r->s, r->git, value, NULL, &path, NULL) == 0 && path) {
        free(r->worktree);
        r->worktree = path;
    }
}

static void take(void *arg, const char *section, const char *sub, const char *name,
                 const char *value)
{
    struct reading *r = arg;
    cleanup_free char *path = *value ? expand(r, value) : NULL;

    (void)sub;
    if (!path || r->failed)
        return;
    if ((strcmp(section, "include") == 0 || strcmp(section, "includeif") == 0) &&
        strcmp(name, "path") == 0)
        include(r, value);
    else if ((strcmp(section, "core") == 0 && strcmp(name, "hookspath") == 0) ||
             /* its hooks are copied to new repositories, and run there */
             (strcmp(section, "init") == 0 && strcmp(name, "templatedir") == 0))
        lead_everywhere(r, path, ".git/hooks");
    else if (strcmp(section, "core") == 0 &&
             (strcmp(name, "attributesfile") == 0 || strcmp(name, "excludesfile") == 0))
        lead_everywhere(r, path, ".git/info");
    else if (strcmp(section, "core") == 0 && strcmp(name, "worktree") == 0)
        take_worktree(r, path);
    else if (is_command(section, name))
        lead_command(r, value);
}

/* core.worktree counts for what stands above it, too, so the text is read twice. */
static int parse(struct reading *r, const char *path, const struct buf *text)
{
    cleanup_free char *base = strdup(path);
    char *slash = base ? strrchr(base, '/') : NULL;

    if (!base)
        return error_memory(r->err);
    *(slash ? slash : base) = '\0';
    r->base = base;
    for (int turn = 0; turn < 2 && !r->failed; turn++)
        if (git_config_parse(buf_str(text), text->len, take, r) < 0)
            return error_memory(r->err);
    return r->failed;
}

static int read_text(struct reading *r, int fd, const char *path)
{
    cleanup(buf_done) struct buf text = BUF_OF(SURVEY_FILE_BYTES + 1);
    int got;

    got = read_small(r->s, fd, path, &text, r->err);
    return got > 0 ? parse(r, path, &text) : got;
}

/* `path` is below the grant and resolved. */
static int read_config(struct reading *r, const char *path)
{
    cleanup_close int fd = survey_open(r->s, path, O_RDONLY);

    return read_text(r, fd, path);
}

static int read_outside(struct reading *r, const char *path)
{
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    return read_text(r, fd, path);
}

int survey_git_global(struct survey *s, const char *git, struct error *err)
{
    struct reading r = {.s = s, .git = git, .err = err};
    int failed = 0;

    for (size_t i = 0; i < s->outside->n_files && !failed; i++) {
        const struct survey_file *file = &s->outside->files[i];

        failed = file->is_too_large ? refuse_large(s, file->path, err)
                                    : parse(&r, file->path, &file->text);
    }
    free(r.worktree);
    return failed;
}

/* The configuration in the directory `from`, for the git directory `git`. */
static int read_configs(struct survey *s, const char *git, const char *from, struct error *err)
{
    static const char *const names[] = {"config", "config.worktree"};
    struct reading r = {.s = s, .git = git, .err = err};
    int failed = 0;

    for (size_t i = 0; i < ARRAY_SIZE(names) && !failed; i++) {
        cleanup_free char *path = survey_join(from, names[i]), *real = NULL;

        if (!path)
            failed = error_memory(err);
        else if (survey_resolve(s, "", path, NULL, &real, NULL) == 0 && real)
            failed = read_config(&r, real);
    }
    free(r.worktree);
    return failed;
}

/* --- other files --- */

/* The first line of `git`/`name`, or NULL. -1: an error. */
static int read_line(struct survey *s, const char *git, const char *name, char **ret_line,
                     struct error *err)
{
    cleanup_free char *path = survey_join(git, name);
    cleanup(buf_done) struct buf text = BUF_OF(SURVEY_FILE_BYTES + 1);
    cleanup_close int fd = path ? open_file(s, path) : -1;
    const char *line;
    int got;

    *ret_line = NULL;
    if (!path)
        return error_memory(err);
    got = read_small(s, fd, path, &text, err);
    line = got > 0 ? first_line(&text) : NULL;
    if (line && !(*ret_line = strdup(line)))
        return error_memory(err);
    return got < 0 ? -1 : 0;
}

/* The configuration of a git directory, and of the one it shares. `git` is where relative paths
 * count from: that of the repository, or of the `.git` file that led to it. */
static int read_repository(struct survey *s, const char *git, const char *from, struct error *err)
{
    cleanup_free char *common = NULL, *path = NULL;

    if (survey_git_global(s, git, err) < 0 || read_configs(s, git, from, err) < 0 ||
        read_line(s, from, "commondir", &common, err) < 0)
        return -1;
    if (!common || survey_resolve(s, from, common, NULL, &path, NULL) < 0 || !path)
        return 0;
    return read_configs(s, git, path, err);
}

static int follow_commondir(struct survey *s, const char *git, struct error *err)
{
    struct protected_state state = protected_git_start();
    cleanup_free char *line = NULL;

    state.row = protected_row(".git");
    if (read_line(s, git, "commondir", &line, err) < 0)
        return -1;
    return line ? survey_lead(s, git, line, &state, err) : 0;
}

int survey_git_file(struct survey *s, const char *dir, const char *name, struct error *err)
{
    struct protected_state state = protected_git_start();
    cleanup_free char *line = NULL, *path = NULL, *git = survey_join(dir, name);
    const char *to;

    if (!git)
        return error_memory(err);
    state.row = protected_row(".git");
    if (read_line(s, dir, name, &line, err) < 0)
        return -1;
    if (!line || strncmp(line, "gitdir:", 7) != 0)
        return 0;
    to = line + 7 + strspn(line + 7, " \t");
    if (!*to || survey_lead(s, dir, to, &state, err) < 0)
        return *to ? -1 : 0;
    if (survey_resolve(s, dir, to, NULL, &path, err) < 0)
        return -1;
    return path ? read_repository(s, git, path, err) : 0;
}

/* One directory of objects a line. What is in them is data; where they point in turn is not. */
static int follow_alternates(struct survey *s, const char *git, struct error *err)
{
    const struct protected_state state = {.git = GIT_OBJECTS};
    cleanup_free char *path = survey_join(git, "objects/info/alternates");
    cleanup_free char *objects = survey_join(git, "objects");
    cleanup(buf_done) struct buf text = BUF_OF(SURVEY_FILE_BYTES + 1);
    cleanup_close int fd = path ? open_file(s, path) : -1;
    char *save = NULL;
    int got;

    if (!path || !objects)
        return error_memory(err);
    got = read_small(s, fd, path, &text, err);
    for (char *line = got > 0 && text.data ? strtok_r(text.data, "\r\n", &save) : NULL; line;
         line = strtok_r(NULL, "\r\n", &save))
        if (*line != '#' && survey_lead(s, objects, line, &state, err) < 0)
            return -1;
    return got < 0 ? -1 : 0;
}

int survey_git_directory(struct survey *s, const char *path, struct error *err)
{
    if (read_repository(s, path, path, err) < 0 || follow_commondir(s, path, err) < 0)
        return -1;
    return follow_alternates(s, path, err);
}
