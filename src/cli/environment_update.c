/* Environments that exist, made anew with other packages, and packages from a file. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "cli/environment_make.h"
#include "engine/environment_manifest.h"

/* --- requirements.txt --- */

/* The text of a line without its comment and white space around it. */
static struct span trim(struct span line)
{
    for (size_t i = 0; i < line.len; i++)
        if (line.data[i] == '#' && (i == 0 || strchr(" \t", line.data[i - 1])))
            line.len = i;
    while (line.len && strchr(" \t\r", line.data[line.len - 1]))
        line.len--;
    while (line.len && strchr(" \t", *line.data))
        line = (struct span){line.data + 1, line.len - 1};
    return line;
}

static int add_requirement(struct environment_wish *wish, const char *path, size_t number,
                           const char *line, struct error *err)
{
    size_t len = strlen(line);

    if (strstr(line, "--hash")) {
        error_set(err, E_INVALID, "%s:%zu: exact versions and hashes are a lock", path, number);
        return error_hint(err, "name the file with --lock instead");
    }
    if (*line == '-' || strpbrk(line, "/@") || line[len - 1] == '\\') {
        error_set(err, E_INVALID, "%s:%zu: expected a package, got `%.80s`", path, number, line);
        return error_hint(err, "only packages are taken from the file, not options, paths and "
                               "URLs; --index and --wheels say where packages come from");
    }
    return config_list_add(&wish->packages, line, len, err);
}

int environment_read_requirements(struct environment_wish *wish, const char *path,
                                  struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(MIB);
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    size_t number = 0;

    if (fd < 0)
        return error_errno(err, "open `%s`", path);
    if (buf_read_fd(&text, fd, err) < 0)
        return error_wrap(err, "requirements `%s`", path);
    for (const char *at = buf_str(&text); *at; at += strcspn(at, "\n"), at += *at == '\n') {
        struct span line = trim((struct span){at, strcspn(at, "\n")});
        cleanup_free char *name = line.len ? span_dup(line) : NULL;

        number++;
        if (line.len && !name)
            return error_memory(err);
        if (name && add_requirement(wish, path, number, name, err) < 0)
            return -1;
    }
    return 0;
}

/* --- made anew --- */

/* Packages and modules as they were asked for. What it imports in advance by default follows from
 * the packages. */
static int take_manifest(struct environment_wish *wish, const json_t *manifest, struct error *err)
{
    const json_t *preload = json_object_get(manifest, "preload");
    const json_t *requested = json_object_get(manifest, "requested");

    if (json_array_size(requested) == 0) {
        error_set(err, E_INVALID, "the environment `%s` was made from a lock", wish->name);
        return error_hint(err, "its packages are exactly those of the file: make another one with "
                               "`belljar environment create NAME --lock FILE`");
    }
    if (!wish->python)
        wish->python = json_string_value(json_object_get(manifest, "python"));
    wish->is_bare |= json_is_true(json_object_get(manifest, "bare"));
    if (wish->preload.count == 0 && !json_equal(preload, json_object_get(manifest, "modules")) &&
        manifest_take_names(&wish->preload, preload, err) < 0)
        return -1;
    return manifest_take_names(&wish->packages, requested, err);
}

static const char *version_in(const json_t *packages, const char *name)
{
    const json_t *item;
    size_t i;

    json_array_foreach(packages, i, item)
    {
        if (strcmp(json_string_value(json_object_get(item, "name")), name) == 0)
            return json_string_value(json_object_get(item, "version"));
    }
    return NULL;
}

static void print_changes(const json_t *before, const json_t *after)
{
    const json_t *item;
    size_t i;

    json_array_foreach(after, i, item)
    {
        const char *name = json_string_value(json_object_get(item, "name"));
        const char *version = json_string_value(json_object_get(item, "version"));
        const char *old = version_in(before, name);

        if (!old)
            (void)printf("+ %s %s\n", name, version);
        else if (strcmp(old, version) != 0)
            (void)printf("~ %s %s -> %s\n", name, old, version);
    }
    json_array_foreach(before, i, item)
    {
        const char *name = json_string_value(json_object_get(item, "name"));

        if (!version_in(after, name))
            (void)printf("- %s\n", name);
    }
}

/* The present one waits beside, and comes back if the new one cannot be made. Sandboxes that run in
 * it keep it: they have the directory, not its name. */
static int replace(const struct environment_wish *wish, const char *dir, struct error *err)
{
    char aside[PATH_MAX];

    if (snprintf(aside, sizeof(aside), "%s.before", dir) >= PATH_MAX)
        return error_set(err, E_TOO_LARGE, "the path of `%s` is too long", wish->name);
    (void)environment_remove_tree(aside);
    if (rename(dir, aside) < 0)
        return error_errno(err, "move `%s` aside", dir);
    if (environment_make(wish, err) == 0) {
        (void)environment_remove_tree(aside);
        return 0;
    }
    if (rename(aside, dir) < 0)
        return error_hint(err, "the environment as it was is in `%s`", aside);
    (void)fprintf(stderr, "the environment `%s` is as it was\n", wish->name);
    return -1;
}

int environment_remake(struct environment_wish *wish, struct error *err)
{
    cleanup_json json_t *before = manifest_load(wish->name, err), *after = NULL;
    cleanup_free char *dir = before ? manifest_dir(wish->name, err) : NULL;

    if (!dir || take_manifest(wish, before, err) < 0 || replace(wish, dir, err) < 0)
        return -1;
    after = manifest_load(wish->name, err);
    if (!after)
        return -1;
    print_changes(json_object_get(before, "packages"), json_object_get(after, "packages"));
    return 0;
}
