#include "cli/run_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/attachments.h"
#include "base/base64.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/terminal_text.h"
#include "sandbox/files.h"
#include "sandbox/protected.h"

/* --- in --- */

static json_t *list_of(struct run_files *files, const char *name)
{
    json_t *list;

    if (!files->body)
        files->body = json_object();
    list = json_object_get(files->body, name);
    if (!list && json_object_set_new(files->body, name, json_array()) == 0)
        list = json_object_get(files->body, name);
    return list;
}

/* "data.csv", "local/data.csv=in/data.csv". A file whose own name has a `=` is that file. */
static int split(const char *word, char **ret_local, const char **ret_name, struct error *err)
{
    const char *equals = access(word, F_OK) == 0 ? NULL : strrchr(word, '=');
    const char *slash = strrchr(word, '/');

    *ret_local = equals ? strndup(word, (size_t)(equals - word)) : strdup(word);
    *ret_name = equals ? equals + 1 : slash ? slash + 1 : word;
    return *ret_local ? 0 : error_memory(err);
}

static int read_local(struct run_files *files, const char *path, struct buf *data,
                      bool *ret_is_program, struct error *err)
{
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0) {
        int saved = errno;

        error_errno(err, "--file `%s`", path);
        err->code = saved == ENOENT ? E_NOT_FOUND : E_INVALID;
        return error_hint(err, "FILE, or FILE=NAME for another name in the sandbox");
    }
    if (!S_ISREG(st.st_mode)) {
        error_set(err, E_INVALID, "--file `%s` is not a regular file", path);
        return error_hint(err, "--allow grants a directory");
    }
    buf_init(data, ATTACHMENTS_BODY_BYTES - files->bytes);
    if (buf_read_fd(data, fd, err) < 0) {
        if (err->code != E_TOO_LARGE)
            return error_wrap(err, "--file `%s`", path);
        error_done(err);
        error_set(err, E_TOO_LARGE, "--file `%s`: all files together have more than %zu MiB", path,
                  ATTACHMENTS_BODY_BYTES / MIB);
        return error_hint(err, "--allow grants the directory of a large file");
    }
    files->bytes += data->len;
    *ret_is_program = st.st_mode & S_IXUSR;
    return 0;
}

int run_files_add(struct run_files *files, const char *word, struct error *err)
{
    cleanup(buf_done) struct buf data = {0}, text = BUF_OF(2 * ATTACHMENTS_BODY_BYTES);
    cleanup_free char *local = NULL;
    json_t *list = list_of(files, "files"), *item;
    char checked[PATH_MAX];
    const char *name;
    bool is_program = false;

    if (!list)
        return error_memory(err);
    if (split(word, &local, &name, err) < 0 ||
        read_local(files, local, &data, &is_program, err) < 0)
        return -1;
    if (files_path_check(name, strlen(name), checked, err) < 0)
        return error_wrap(err, "--file `%s`", word);
    if (base64_add(&text, buf_str(&data), data.len, err) < 0)
        return -1;
    item = json_pack("{s:s, s:s, s:s, s:b}", "path", checked, "content", buf_str(&text), "encoding",
                     "base64", "executable", (int)is_program);
    if (!item)
        return error_set(err, E_INVALID, "--file `%s`: the name is not UTF-8", word);
    return json_array_append_new(list, item) < 0 ? error_memory(err) : 0;
}

int run_files_add_pattern(struct run_files *files, const char *word, struct error *err)
{
    json_t *list = list_of(files, "collect"), *item = json_string(word);

    if (!*word || !item) {
        json_decref(item);
        return error_set(err, E_INVALID, "--collect: expected a pattern, got `%s`", word);
    }
    if (!list || json_array_append_new(list, item) < 0)
        return error_memory(err);
    if (json_array_size(list) > LIMIT_FILES_PATTERNS)
        return error_set(err, E_TOO_LARGE, "--collect: at most %d patterns", LIMIT_FILES_PATTERNS);
    return 0;
}

int run_files_check(struct run_files *files, struct error *err)
{
    bool has_patterns = json_object_get(files->body, "collect");

    if (json_array_size(json_object_get(files->body, "files")) > LIMIT_FILES_GIVEN)
        return error_set(err, E_TOO_LARGE, "--file: at most %d files", LIMIT_FILES_GIVEN);
    if (has_patterns != (files->into != NULL) || (files->replaces && !files->into)) {
        error_set(err, E_INVALID,
                  has_patterns ? "--collect needs --into DIR" : "%s needs --collect",
                  files->into ? "--into" : "--replace");
        return error_hint(err,
                          "--collect 'out/*.png' --into DIR brings files back from /workspace");
    }
    if (!files->into)
        return 0;
    if (mkdir(files->into, 0755) < 0 && errno != EEXIST)
        return error_errno(err, "--into `%s`", files->into);
    files->dir = open(files->into, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (files->dir < 0)
        return error_errno(err, "--into `%s`", files->into);
    return 0;
}

int run_files_ask(const struct run_files *files, struct run_request *asked, struct error *err)
{
    return files->body ? attachments_read(files->body, NULL, asked, err) : 0;
}

void run_files_done(struct run_files *files)
{
    json_decref(files->body);
    files->body = NULL;
    close_fd(&files->dir);
}

/* --- out --- */

/* The directory of the path below `dir`, made part by part; links are not followed. *ret_name: the
 * last part. -1: errno says why. */
static int open_parent(int dir, char *path, const char **ret_name)
{
    int at = fcntl(dir, F_DUPFD_CLOEXEC, 0);
    char *slash;

    for (; at >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
        int next;

        *slash = '\0';
        if (mkdirat(at, path, 0755) < 0 && errno != EEXIST)
            next = -1;
        else
            next = openat(at, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        close_fd(&at);
        at = next;
    }
    *ret_name = path;
    return at;
}

static int write_new(int parent, const char *name, const char *id, const char *data, size_t len,
                     bool replaces)
{
    char temporary[64];
    cleanup_close int fd = -1;
    int r;

    /* The id cannot be guessed, so nobody has put anything there. */
    (void)snprintf(temporary, sizeof(temporary), ".%s.tmp", id);
    fd = openat(parent, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        return -1;
    r = file_write_all(fd, data, len) < 0 ? -1
        : replaces                        ? renameat(parent, temporary, parent, name)
                   : renameat2(parent, temporary, parent, name, RENAME_NOREPLACE);
    if (r < 0) {
        int saved = errno;

        (void)unlinkat(parent, temporary, 0);
        errno = saved;
    }
    return r;
}

/* Why it may not be written, or NULL. Directories of protected places are not made either. Then
 * `parent` is -1; a file is judged once more with its directory, for what is beside it: of a git
 * repository each part alone is harmless. */
static const char *refusal(const struct run_files *files, const char *path, int parent)
{
    cleanup_free char *top = realpath(files->into, NULL), *whole = NULL;
    const struct protected_name *found = NULL;

    if (!top || asprintf(&whole, "%s/%s", strcmp(top, "/") == 0 ? "" : top, path) < 0) {
        whole = NULL;
        return "no memory";
    }
    if (parent >= 0) {
        found = protected_judge(parent, whole);
        return found ? found->reason : NULL;
    }
    /* Whatever the case: on some file systems they are one name. */
    if (strcasecmp(strrchr(whole, '/') + 1, "HEAD") == 0)
        return "git would take the directory for a repository and follow its settings";
    if (protected_is_cache(whole))
        return "Python would load it without checking its source";
    /* Each part of the way, and the file itself. */
    for (char *at = whole + strlen(top); !found && (at = strchr(at + 1, '/'));) {
        *at = '\0';
        found = protected_judge(-1, whole);
        *at = '/';
    }
    if (!found)
        found = protected_judge(-1, whole);
    return found ? found->reason : NULL;
}

static int write_content(const struct run_files *files, const struct run *run, const json_t *file,
                         const char *path, const char **ret_why)
{
    const json_t *content = json_object_get(file, "content");
    const char *encoding = json_string_value(json_object_get(file, "encoding")), *name;
    struct span data = {json_string_value(content), json_string_length(content)};
    cleanup(buf_done) struct buf decoded = BUF_OF(2 * LIMIT_COLLECTED_BYTES);
    cleanup_close int parent = -1;
    char parts[PATH_MAX], checked[PATH_MAX];

    if (!json_is_string(content)) {
        *ret_why = "too large: let the program write it to a directory granted with :rw";
        return -1;
    }
    if (encoding && strcmp(encoding, "base64") == 0) {
        if (base64_decode(&decoded, data.data, data.len, NULL) < 0) {
            *ret_why = "the server sent it damaged";
            return -1;
        }
        data = (struct span){buf_str(&decoded), decoded.len};
    }
    if (files_path_check(path, strlen(path), checked, NULL) < 0 || !*checked) {
        *ret_why = "it would be outside of the directory";
        return -1;
    }
    *ret_why = refusal(files, checked, -1);
    if (*ret_why)
        return -1;
    (void)snprintf(parts, sizeof(parts), "%s", checked);
    parent = open_parent(files->dir, parts, &name);
    *ret_why = parent < 0 ? NULL : refusal(files, checked, parent);
    if (*ret_why)
        return -1;
    if (parent < 0 || write_new(parent, name, run->id, data.data, data.len, files->replaces) < 0) {
        *ret_why = errno == EEXIST                      ? "it exists; --replace replaces files"
                   : errno == ELOOP || errno == ENOTDIR ? "a part of its path is a link or a file"
                                                        : strerror(errno);
        return -1;
    }
    return 0;
}

static bool save_one(const struct run_files *files, const struct run *run, const json_t *file)
{
    cleanup(buf_done) struct buf shown = BUF_OF(MIB);
    const char *path = json_string_value(json_object_get(file, "path")), *why = NULL;
    int r = path ? write_content(files, run, file, path, &why) : -1;

    (void)terminal_line(path ? path : "?", strlen(path ? path : "?"), &shown, NULL);
    if (r == 0)
        (void)fprintf(stderr, "belljar: collected %s/%s\n", files->into, buf_str(&shown));
    else
        (void)fprintf(stderr, "belljar: not written: %s/%s: %s\n", files->into, buf_str(&shown),
                      why ? why : "it has no name");
    return r == 0;
}

size_t run_files_save(const struct run_files *files, const struct run *run, const json_t *result)
{
    json_t *own = NULL, *list = json_object_get(result, "collected"), *file;
    bool has_more = json_is_true(json_object_get(result, "collected_truncated"));
    size_t i, missing = 0, count;

    if (files->dir < 0)
        return 0;
    if (!result) {
        list = own = attachments_json(run);
        has_more = run->result.has_more_collected;
    }
    count = json_array_size(list);
    json_array_foreach(list, i, file)
    {
        missing += !save_one(files, run, file);
    }
    if (has_more && !missing) {
        (void)fprintf(stderr,
                      "belljar: not all files were collected: at most %d, of %zu MiB "
                      "together\n",
                      LIMIT_FILES_COLLECTED, LIMIT_COLLECTED_BYTES / MIB);
        missing++;
    }
    if (!count && !has_more)
        (void)fprintf(stderr,
                      "belljar: no file in /workspace matches --collect\n"
                      "hint: the program writes them to /workspace, wherever it starts; links are "
                      "not collected\n");
    json_decref(own);
    return missing;
}
