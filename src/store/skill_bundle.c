#include "store/skill_bundle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "store/front_matter.h"
#include "wire/message.h"

#define PART_MAX  100
#define DEPTH_MAX 8

void skill_bundle_done(struct skill_bundle *folder)
{
    for (size_t i = 0; i < folder->count; i++) {
        free(folder->files[i].path);
        free(folder->files[i].data);
    }
    free(folder->files);
    free(folder->name);
    free(folder->description);
    *folder = (struct skill_bundle){0};
}

/* --- paths --- */

static int refuse(struct error *err, struct span path, const char *why)
{
    char shown[64];
    size_t n = 0;

    /* Of a stranger's name only what cannot be anything else than text. */
    for (; n < path.len && n < sizeof(shown) - 1; n++)
        shown[n] = (char)(path.data[n] >= ' ' && path.data[n] < 0x7f ? path.data[n] : '?');
    shown[n] = '\0';
    return error_set(err, E_INVALID, "`%s`: %s", shown, why);
}

static bool ends_with(struct span text, const char *end)
{
    size_t len = strlen(end);

    return text.len >= len && strncasecmp(text.data + text.len - len, end, len) == 0;
}

static const char *wrong_part(struct span part)
{
    if (!part.len || (part.len == 1 && part.data[0] == '.'))
        return "a part of the path is empty";
    if (part.len == 2 && memcmp(part.data, "..", 2) == 0)
        return "the path leaves the folder";
    if (part.len > PART_MAX)
        return "a part of the path is too long";
    if (part.data[0] == ' ' || part.data[part.len - 1] == ' ' || part.data[part.len - 1] == '.')
        return "a part of the path begins with a space, or ends with one or with a period";
    return NULL;
}

static const char *wrong_character(struct span path)
{
    for (size_t i = 0; i < path.len; i++) {
        unsigned char c = (unsigned char)path.data[i];

        if (c < ' ' || c >= 0x7f)
            return "file names must be plain ASCII";
        if (strchr("\\:*?\"<>|", c))
            return "a character of the path is special on some systems";
    }
    return NULL;
}

static const char *wrong_path(struct span path)
{
    static const char *const compiled[] = {".pyc", ".pyo", ".pyd", ".so"};
    const char *why = NULL;
    size_t depth = 0;

    if (path.len > SKILL_BUNDLE_PATH_MAX)
        return "the path is too long";
    if (path.len && path.data[0] == '/')
        return "the path is absolute";
    why = wrong_character(path);
    for (struct span rest = path; !why; depth++) {
        const char *slash = memchr(rest.data, '/', rest.len);
        struct span part = {rest.data, slash ? (size_t)(slash - rest.data) : rest.len};

        why = depth == DEPTH_MAX ? "the path is too deep" : wrong_part(part);
        if (!slash)
            break;
        rest = (struct span){slash + 1, rest.len - part.len - 1};
    }
    for (size_t i = 0; !why && i < ARRAY_SIZE(compiled); i++)
        if (ends_with(path, compiled[i]))
            why = "compiled code cannot be checked";
    return why;
}

int skill_bundle_check_path(struct span path, struct error *err)
{
    const char *why = wrong_path(path);

    return why ? refuse(err, path, why) : 0;
}

static bool is_left_over(struct span path)
{
    static const char *const names[] = {"__MACOSX", ".DS_Store", "__pycache__", ".git"};

    for (struct span rest = path;;) {
        const char *slash = memchr(rest.data, '/', rest.len);
        struct span part = {rest.data, slash ? (size_t)(slash - rest.data) : rest.len};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
            if (part.len == strlen(names[i]) && memcmp(part.data, names[i], part.len) == 0)
                return true;
        if (!slash)
            return false;
        rest = (struct span){slash + 1, rest.len - part.len - 1};
    }
}

/* Two paths that some system takes for one, or a file where the other needs a directory. */
static bool clash(const char *known, struct span path)
{
    size_t len = strlen(known), shorter = len < path.len ? len : path.len;
    const char *longer = len < path.len ? path.data : known;

    if (strncasecmp(known, path.data, shorter) != 0)
        return false;
    return len == path.len || longer[shorter] == '/';
}

/* --- filling --- */

static int check_room(const struct skill_bundle *folder, size_t len, struct error *err)
{
    if (folder->count == LIMIT_FOLDER_FILES)
        return error_set(err, E_TOO_LARGE, "a skill may have %d files", LIMIT_FOLDER_FILES);
    if (len > LIMIT_FOLDER_BYTES - folder->bytes)
        return error_set(err, E_TOO_LARGE, "the files of a skill may have %d MiB together",
                         (int)(LIMIT_FOLDER_BYTES / MIB));
    return 0;
}

static int keep(struct skill_bundle *folder, struct span path, struct span data, bool is_executable,
                struct error *err)
{
    struct skill_bundle_file *file;

    if (!folder->files)
        folder->files = calloc(LIMIT_FOLDER_FILES, sizeof(*folder->files));
    if (!folder->files)
        return error_memory(err);
    file = &folder->files[folder->count];
    *file = (struct skill_bundle_file){strndup(path.data, path.len), malloc(data.len + 1), data.len,
                                       is_executable};
    if (!file->path || !file->data) {
        free(file->path);
        free(file->data);
        return error_memory(err);
    }
    if (data.len)
        memcpy(file->data, data.data, data.len);
    file->data[data.len] = '\0';
    folder->count++;
    folder->bytes += data.len;
    return 0;
}

int skill_bundle_add(struct skill_bundle *folder, struct span path, struct span data,
                     bool is_executable, struct error *err)
{
    if (is_left_over(path))
        return 0;
    if (skill_bundle_check_path(path, err) < 0)
        return -1;
    for (size_t i = 0; i < folder->count; i++)
        if (clash(folder->files[i].path, path))
            return refuse(err, path, "two files have this path, at least on some systems");
    return check_room(folder, data.len, err) < 0 ? -1
                                                 : keep(folder, path, data, is_executable, err);
}

const struct skill_bundle_file *skill_bundle_find(const struct skill_bundle *folder,
                                                  const char *path)
{
    for (size_t i = 0; i < folder->count; i++)
        if (strcmp(folder->files[i].path, path) == 0)
            return &folder->files[i];
    return NULL;
}

/* --- the end --- */

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct skill_bundle_file *)a)->path,
                  ((const struct skill_bundle_file *)b)->path);
}

/* "csv-profile/SKILL.md", and everything else in csv-profile, too. */
static void take_top_off(struct skill_bundle *folder)
{
    const char *slash = folder->count ? strchr(folder->files[0].path, '/') : NULL;
    size_t len = slash ? (size_t)(slash - folder->files[0].path) + 1 : 0;

    if (!len || skill_bundle_find(folder, SKILL_BUNDLE_HEAD))
        return;
    for (size_t i = 1; i < folder->count; i++)
        if (strncmp(folder->files[i].path, folder->files[0].path, len) != 0)
            return;
    for (size_t i = 0; i < folder->count; i++) {
        char *path = folder->files[i].path;

        memmove(path, path + len, strlen(path + len) + 1);
    }
}

int skill_bundle_finish(struct skill_bundle *folder, struct error *err)
{
    const struct skill_bundle_file *head;
    struct front_matter matter = {0};

    take_top_off(folder);
    if (folder->count)
        qsort(folder->files, folder->count, sizeof(*folder->files), by_path);
    head = skill_bundle_find(folder, SKILL_BUNDLE_HEAD);
    if (!head) {
        error_set(err, E_INVALID, "there is no " SKILL_BUNDLE_HEAD);
        return error_hint(err,
                          "a skill is a folder with that file, or a ZIP file of such a folder");
    }
    if (front_matter_read((struct span){head->data, head->len}, &matter, err) < 0)
        return error_wrap(err, SKILL_BUNDLE_HEAD);
    free(folder->name);
    free(folder->description);
    folder->name = matter.name;
    folder->description = matter.description;
    return 0;
}

/* --- as others need it --- */

int skill_bundle_sources(const struct skill_bundle *folder, struct buf *out, struct error *err)
{
    for (size_t i = 0; i < folder->count; i++) {
        const struct skill_bundle_file *file = &folder->files[i];

        if (!ends_with(span_of(file->path), ".py"))
            continue;
        if (memchr(file->data, '\0', file->len))
            return error_set(err, E_INVALID, "`%s` has a NUL", file->path);
        if (buf_add(out, file->path, strlen(file->path) + 1, err) < 0 ||
            buf_add(out, file->data, file->len + 1, err) < 0)
            return error_wrap(err, "the skill's Python");
    }
    return 0;
}

int skill_bundle_rewrite(const char *name, struct span text, struct buf *out, struct error *err)
{
    char public_dir[128], user_dir[128], here[128];
    const struct {
        const char *theirs, *ours;
    } places[] = {
        {"/mnt/user-data", "/workspace"},
        {public_dir, here},
        {user_dir, here},
    };

    (void)snprintf(public_dir, sizeof(public_dir), "/mnt/skills/public/%s", name);
    (void)snprintf(user_dir, sizeof(user_dir), "/mnt/skills/user/%s", name);
    (void)snprintf(here, sizeof(here), "/workspace/skills/%s", name);
    for (char *c = here; *c; c++)
        *c = (char)(*c == '-' ? '_' : *c);
    while (text.len) {
        const char *at = memmem(text.data, text.len, "/mnt/", 5);
        size_t before = at ? (size_t)(at - text.data) : text.len, len = 0, which = 0;

        if (buf_add(out, text.data, before, err) < 0)
            return -1;
        text = (struct span){text.data + before, text.len - before};
        for (; text.len && which < ARRAY_SIZE(places); which++) {
            len = strlen(places[which].theirs);
            if (text.len >= len && memcmp(text.data, places[which].theirs, len) == 0)
                break;
        }
        if (!text.len)
            break;
        if (which == ARRAY_SIZE(places))
            len = 5;
        if (buf_add_str(out, which < ARRAY_SIZE(places) ? places[which].ours : "/mnt/", err) < 0)
            return -1;
        text = (struct span){text.data + len, text.len - len};
    }
    return 0;
}
