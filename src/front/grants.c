#include "front/grants.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/net.h"
#include "gate/admit.h"
#include "gate/own.h"
#include "sandbox/grant.h"

static int deny(const char *text, struct error *err)
{
    error_set(err, E_DENIED, "`allow`: `%.200s` is not among the directories that are allowed here",
              text);
    return error_hint(err, "the operator lists them as `allow`");
}

static bool is_below(const char *path, const char *tree)
{
    size_t len = strlen(tree);

    return strncmp(path, tree, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* Whether one of the settings' directories holds it. Both paths are resolved: a link that a program
 * has made in there leads nowhere else. */
static bool is_allowed(const struct config *config, const struct run_grant *grant)
{
    for (size_t i = 0; i < config->allow.count; i++) {
        cleanup_free char *path = NULL, *real = NULL;
        enum run_grant_mode mode;

        if (config_parse_grant(config->allow.items[i], &path, &mode, NULL) < 0)
            continue;
        real = realpath(path, NULL);
        if (real && is_below(grant->path, real) &&
            (mode == RUN_GRANT_RW || grant->mode == RUN_GRANT_RO || grant->mode == mode))
            return true;
    }
    return false;
}

bool grants_may_write(const struct config *config, const char *path)
{
    const struct run_grant grant = {.path = (char *)path, .fd = -1, .mode = RUN_GRANT_RW};

    return is_allowed(config, &grant);
}

static int read_one(const struct config *config, const char *text, struct run *run,
                    struct error *err)
{
    struct run_grant *grant = &run->grants[run->n_grants];
    cleanup_free char *path = NULL;
    enum run_grant_mode mode;

    if (config_parse_grant(text, &path, &mode, err) < 0)
        return error_wrap(err, "`allow`");
    if (path[0] != '/' || grant_open(path, mode, grant, NULL) < 0)
        return deny(text, err);
    run->n_grants++; /* the run's to close from here on */
    if (!is_allowed(config, grant))
        return deny(text, err);
    for (size_t i = 0; i + 1 < run->n_grants; i++)
        if (strcmp(run->grants[i].path, grant->path) == 0)
            return error_set(err, E_INVALID, "`allow`: `%.200s` is there twice", text);
    return 0;
}

/* A directory before those below it: what is mounted later covers what is there. */
static int compare(const void *a, const void *b)
{
    return strcmp(((const struct run_grant *)a)->path, ((const struct run_grant *)b)->path);
}

/* Within the hosts that the settings name. */
static int read_net(const struct api *api, const struct caller *caller, const json_t *list,
                    struct run *run, struct error *err)
{
    cleanup(net_unref_p) struct net *allowed = NULL;
    const json_t *item;
    size_t i;

    if (json_array_size(list) == 0)
        return 0;
    if (!caller->rights.has_grants) {
        error_set(err, E_DENIED, "this token may not reach hosts");
        return error_hint(err, "one that is made with `belljar token add --grants` may");
    }
    run->net = net_new();
    if (!run->net)
        return error_memory(err);
    if (admit_net(api->config, &allowed, err) < 0)
        return -1;
    json_array_foreach(list, i, item)
    {
        if (net_add_within(run->net, allowed, json_string_value(item), err) < 0)
            return error_wrap(err, "`net`");
    }
    return 0;
}

static int read_allow(const struct api *api, const struct caller *caller, const json_t *list,
                      struct run *run, struct error *err)
{
    const json_t *item;
    size_t i;

    if (json_array_size(list) == 0)
        return 0;
    if (!caller->rights.has_grants) {
        error_set(err, E_DENIED, "this token may not use directories of the host");
        return error_hint(err, "one that is made with `belljar token add --grants` may");
    }
    if (own_places_add(api->config, err) < 0)
        return -1;
    json_array_foreach(list, i, item)
    {
        if (read_one(api->config, json_string_value(item), run, err) < 0)
            return -1;
    }
    qsort(run->grants, run->n_grants, sizeof(run->grants[0]), compare);
    return 0;
}

int grants_read(const struct api *api, const struct caller *caller, const json_t *body,
                struct run *run, struct error *err)
{
    if (read_allow(api, caller, json_object_get(body, "allow"), run, err) < 0)
        return -1;
    return read_net(api, caller, json_object_get(body, "net"), run, err);
}
