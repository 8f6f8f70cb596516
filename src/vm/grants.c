#include "vm/grants.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "admit/own_places.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "base/paths.h"
#include "sandbox/grant.h"
#include "sandbox/own_places.h"
#include "wire/machine.h"

/* A line of the first process of the guest has room for it. */
#define PATH_MAX_SHOWN 3900

struct identity {
    dev_t dev;
    ino_t ino;
};

struct vm_grants {
    struct run_grant list[MACHINE_GRANTS_MAX];
    struct identity roots[MACHINE_GRANTS_MAX];
    int mounts[MACHINE_GRANTS_MAX];
    size_t count;
    struct hidden hidden;
    struct identity *hidden_identities; /* of each */
    size_t n_hidden;
};

static bool identify(const char *path, struct identity *ret_identity)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        return false;
    *ret_identity = (struct identity){st.st_dev, st.st_ino};
    return true;
}

static bool is_same(const char *path, const struct identity *identity)
{
    struct identity now;

    return identify(path, &now) && now.dev == identity->dev && now.ino == identity->ino;
}

static bool is_there(const struct vm_grants *grants, const char *path)
{
    for (size_t i = 0; i < grants->count; i++)
        if (strcmp(grants->list[i].path, path) == 0)
            return true;
    return false;
}

/* Runs that name no directory get all of the setting, and would all be refused. */
int vm_grants_check_setting(const struct config *config, struct error *err)
{
    for (size_t i = 0; i < config->allow.count; i++) {
        cleanup_free char *path = NULL;
        enum run_grant_mode mode;

        if (config_parse_grant(config->allow.items[i], &path, &mode, err) < 0)
            return -1;
        if (mode != RUN_GRANT_RW) /* `:cow` is read-only without a session */
            continue;
        error_set(err, E_UNSUPPORTED,
                  "`allow`: `%s`: programs in a virtual machine cannot change directories yet",
                  config->allow.items[i]);
        return error_hint(err, "grant it `:ro`, or leave out `machine`");
    }
    return 0;
}

/* As at a request that does not name it: a server starts although a disk is not there. */
static int add(struct vm_grants *grants, const char *text, struct error *err)
{
    struct run_grant *grant = &grants->list[grants->count];
    cleanup_free char *path = NULL;
    enum run_grant_mode mode;

    if (grants->count == MACHINE_GRANTS_MAX)
        return error_set(err, E_TOO_LARGE, "a virtual machine has at most %d directories (`allow`)",
                         MACHINE_GRANTS_MAX);
    if (config_parse_grant(text, &path, &mode, err) < 0 ||
        grant_open(path, RUN_GRANT_RO, grant, err) < 0)
        return -1;
    if (strchr(grant->path, '\n') || strlen(grant->path) > PATH_MAX_SHOWN ||
        !identify(grant->path, &grants->roots[grants->count])) {
        grant_done(grant);
        return error_set(err, E_UNSUPPORTED,
                         "its path contains a newline, is too long, or no longer exists");
    }
    if (is_there(grants, grant->path))
        grant_done(grant);
    else
        grants->count++;
    return 0;
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct run_grant *)a)->path, ((const struct run_grant *)b)->path);
}

static int note_hidden(struct vm_grants *grants, struct error *err)
{
    while (grants->hidden.paths[grants->n_hidden])
        grants->n_hidden++;
    grants->hidden_identities = calloc(grants->n_hidden + 1, sizeof(struct identity));
    if (!grants->hidden_identities)
        return error_memory(err);
    for (size_t i = 0; i < grants->n_hidden; i++)
        (void)identify(grants->hidden.paths[i], &grants->hidden_identities[i]);
    return 0;
}

static int open_all(struct vm_grants *grants, const struct config *config, const struct ns_ids *ids,
                    struct error *err)
{
    int writable[MACHINE_GRANTS_MAX];

    if (config->allow.count && own_places_add(config, err) < 0)
        return -1;
    for (size_t i = 0; i < config->allow.count; i++) {
        cleanup_error struct error why = {0};

        if (add(grants, config->allow.items[i], &why) < 0)
            LOG_EVENT(LOG_WARNING, "machine",
                      {"message", "a directory is not shown in the virtual machine"},
                      {"directory", config->allow.items[i]}, {"reason", error_message(&why)});
    }
    qsort(grants->list, grants->count, sizeof(grants->list[0]), compare);
    for (size_t i = 0; i < grants->count; i++)
        (void)identify(grants->list[i].path, &grants->roots[i]);
    if (hidden_find(grants->list, grants->count, &grants->hidden, err) < 0 ||
        note_hidden(grants, err) < 0)
        return -1;
    return grant_mount(grants->list, grants->count, ids->uid_base, ids->gid_base, grants->mounts,
                       writable, err);
}

int vm_grants_open(const struct config *config, const struct ns_ids *ids,
                   struct vm_grants **ret_grants, struct error *err)
{
    struct vm_grants *grants = calloc(1, sizeof(*grants));

    if (!grants)
        return error_memory(err);
    for (size_t i = 0; i < MACHINE_GRANTS_MAX; i++)
        grants->mounts[i] = grants->list[i].fd = -1;
    if (open_all(grants, config, ids, err) < 0) {
        vm_grants_free(grants);
        return -1;
    }
    *ret_grants = grants;
    return 0;
}

void vm_grants_free(struct vm_grants *grants)
{
    if (!grants)
        return;
    vm_grants_close_mounts(grants);
    for (size_t i = 0; i < grants->count; i++)
        grant_done(&grants->list[i]);
    hidden_done(&grants->hidden);
    free(grants->hidden_identities);
    free(grants);
}

size_t vm_grants_count(const struct vm_grants *grants)
{
    return grants->count;
}

const char *vm_grants_path(const struct vm_grants *grants, size_t index)
{
    return grants->list[index].path;
}

const char *vm_grants_hidden(const struct vm_grants *grants, size_t index)
{
    return grants->hidden.paths[index];
}

int vm_grants_fd(const struct vm_grants *grants, size_t index)
{
    return grants->mounts[index];
}

void vm_grants_close_mounts(struct vm_grants *grants)
{
    for (size_t i = 0; i < MACHINE_GRANTS_MAX; i++)
        close_fd(&grants->mounts[i]);
}

int vm_grants_setting(const struct vm_grants *grants, struct buf *out, struct error *err)
{
    if (buf_add_str(out, "allow = [", err) < 0)
        return -1;
    for (size_t i = 0; i < grants->count; i++) {
        cleanup_free char *word = NULL;
        cleanup_json json_t *text = NULL;

        if (asprintf(&word, "%s:ro", grants->list[i].path) < 0) {
            word = NULL;
            return error_memory(err);
        }
        text = json_string(word);
        if (!text)
            return error_set(err, E_UNSUPPORTED, "`allow`: a path is not UTF-8");
        if ((i && buf_add_str(out, ", ", err) < 0) ||
            json_text_dump(text, JSON_TEXT_COMPACT, out, err) < 0)
            return -1;
    }
    return buf_add_str(out, "]\n", err);
}

/* --- at a run --- */

static int refuse(const char *path, const char *why, struct error *err)
{
    error_set(err, E_UNSUPPORTED, "`%s`: %s", path, why);
    return error_hint(err, "an operator can end the machine with `belljar machine stop`: the next "
                           "one is given the directories of `allow` as they are then");
}

/* A directory that has taken the place of one since the start of the machine is not shown. */
static bool is_shown(const struct vm_grants *grants, const char *path)
{
    for (size_t i = 0; i < grants->count; i++)
        if (paths_below(path, grants->list[i].path) &&
            is_same(grants->list[i].path, &grants->roots[i]))
            return true;
    return false;
}

static bool is_hidden(const struct vm_grants *grants, const char *path)
{
    for (size_t i = 0; i < grants->n_hidden; i++)
        if (strcmp(grants->hidden.paths[i], path) == 0 &&
            is_same(path, &grants->hidden_identities[i]))
            return true;
    return false;
}

int vm_grants_check(const struct vm_grants *grants, const struct run_terms *terms,
                    struct error *err)
{
    struct hidden hidden = {0};
    int r = 0;

    for (size_t i = 0; i < terms->n_grants; i++)
        if (!is_shown(grants, terms->grants[i].path))
            return refuse(terms->grants[i].path,
                          "the virtual machine was started without this directory", err);
    if (terms->n_grants)
        r = hidden_find(terms->grants, terms->n_grants, &hidden, err);
    for (size_t i = 0; r == 0 && hidden.paths && hidden.paths[i]; i++)
        if (!is_hidden(grants, hidden.paths[i]))
            r = refuse(
                hidden.paths[i],
                "this place of Belljar's own is new and would be visible in the virtual machine",
                err);
    hidden_done(&hidden);
    return r;
}
