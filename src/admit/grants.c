#include "admit/grants.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "admit/admit.h"
#include "admit/own_code.h"
#include "admit/own_places.h"
#include "base/cleanup.h"
#include "base/net.h"
#include "base/paths.h"
#include "sandbox/grant.h"

static int deny(const char *text, struct error *err)
{
    error_set(err, E_DENIED, "`allow`: `%.200s` is not one of the allowed directories", text);
    return error_hint(err, "the operator lists them as `allow`");
}

/* Whether one of the settings' directories holds it. A setting whose path a program has led
 * elsewhere by a link allows nothing. */
static bool is_allowed(const struct config *config, const struct run_grant *grant)
{
    for (size_t i = 0; i < config->allow.count; i++) {
        cleanup_free char *path = NULL, *real = NULL;
        enum run_grant_mode mode;

        if (config_parse_grant(config->allow.items[i], &path, &mode, NULL) < 0)
            continue;
        real = grant_real_path(path);
        if (real && paths_below(grant->path, real) &&
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
    struct run_grant *grant = &run->terms.grants[run->terms.n_grants];
    cleanup_free char *path = NULL;
    enum run_grant_mode mode;

    if (config_parse_grant(text, &path, &mode, err) < 0)
        return error_wrap(err, "`allow`");
    if (path[0] != '/' || grant_open(path, mode, grant, NULL) < 0)
        return deny(text, err);
    run->terms.n_grants++; /* the run's to close from here on */
    if (!is_allowed(config, grant))
        return deny(text, err);
    if (own_code_check(grant, err) < 0)
        return -1;
    for (size_t i = 0; i + 1 < run->terms.n_grants; i++)
        if (strcmp(run->terms.grants[i].path, grant->path) == 0)
            return error_set(err, E_INVALID, "`allow`: `%.200s` is given twice", text);
    return 0;
}

/* A directory before those below it: what is mounted later covers what is there. */
static int compare(const void *a, const void *b)
{
    return strcmp(((const struct run_grant *)a)->path, ((const struct run_grant *)b)->path);
}

/* Within the hosts that the settings name. */
static int open_net(const struct admission *a, const struct run_request_words *list,
                    struct run *run, struct error *err)
{
    cleanup(net_unref_p) struct net *allowed = NULL;

    if (list->count == 0)
        return 0;
    if (!a->caller->rights.has_grants) {
        error_set(err, E_DENIED, "this token may not reach hosts");
        return error_hint(err, "create a token for that with `belljar token add --grants`");
    }
    run->terms.uses_grants = true;
    run->terms.net = net_new();
    if (!run->terms.net)
        return error_memory(err);
    if (admit_net(a->config, &allowed, err) < 0)
        return -1;
    for (size_t i = 0; i < list->count; i++)
        if (net_add_within(run->terms.net, allowed, list->items[i], err) < 0)
            return error_wrap(err, "`net`");
    return 0;
}

static int open_allow(const struct admission *a, const struct run_request_words *list,
                      struct run *run, struct error *err)
{
    if (list->count == 0)
        return 0;
    if (!a->caller->rights.has_grants) {
        error_set(err, E_DENIED, "this token may not use directories of the host");
        return error_hint(err, "create a token for that with `belljar token add --grants`");
    }
    run->terms.uses_grants = true;
    if (own_places_add(a->config, err) < 0)
        return -1;
    for (size_t i = 0; i < list->count; i++)
        if (read_one(a->config, list->items[i], run, err) < 0)
            return -1;
    qsort(run->terms.grants, run->terms.n_grants, sizeof(run->terms.grants[0]), compare);
    return 0;
}

/* The operator gave these hosts to all sandboxes of this command. A request that names hosts gets
 * only those. */
static int copy_granted(const struct admission *a, const struct run_request *request,
                        struct run *run, struct error *err)
{
    const struct run *granted = a->granted;

    for (size_t i = 0; granted && i < granted->terms.n_grants; i++) {
        const struct run_grant *from = &granted->terms.grants[i];
        struct run_grant *to = &run->terms.grants[run->terms.n_grants];

        to->path = strdup(from->path);
        to->fd = fcntl(from->fd, F_DUPFD_CLOEXEC, 3);
        to->mode = from->mode;
        run->terms.n_grants++;
        if (!to->path || to->fd < 0)
            return error_errno(err, "grant `%s`", from->path);
    }
    return granted && !request->has_net ? net_merge(&run->terms.net, granted->terms.net, err) : 0;
}

static bool is_granted(const struct run *run, const char *path)
{
    for (size_t i = 0; i < run->terms.n_grants; i++)
        if (strcmp(run->terms.grants[i].path, path) == 0)
            return true;
    return false;
}

/* One that is not there now, or may not be granted, is left out: the request did not ask for it.
 * Without a session nobody could look at what is written to a copy-on-write directory. */
static void give_one(const struct admission *a, const char *text, struct run *run)
{
    struct run_grant *grant = &run->terms.grants[run->terms.n_grants];
    cleanup_error struct error err = {0};
    cleanup_free char *path = NULL;
    enum run_grant_mode mode;
    bool is_for_sessions;

    if (config_parse_grant(text, &path, &mode, &err) < 0)
        return;
    is_for_sessions = mode == RUN_GRANT_COW && a->cow != ADMISSION_COW_KEEPS;
    if (path[0] != '/' || grant_open(path, is_for_sessions ? RUN_GRANT_RO : mode, grant, &err) < 0)
        return;
    grant->is_for_sessions = is_for_sessions;
    if (is_granted(run, grant->path) || own_code_check(grant, &err) < 0)
        grant_done(grant);
    else
        run->terms.n_grants++;
}

/* The grants of a request that names none: as with `belljar mcp`, all that the operator allows, if
 * the token may have it and the profile has files. */
static int give_all(const struct admission *a, const struct run_request *request, bool has_files,
                    struct run *run, struct error *err)
{
    const struct config_list *allow = &a->config->allow;
    bool gives_hosts = !request->has_net && a->config->net.count;

    if (!a->gives_all || a->granted || !a->caller->rights.has_grants)
        return 0;
    if (!request->has_allow && has_files && allow->count) {
        if (own_places_add(a->config, err) < 0)
            return -1;
        for (size_t i = 0; i < allow->count && run->terms.n_grants < LIMIT_GRANTS; i++)
            give_one(a, allow->items[i], run);
        qsort(run->terms.grants, run->terms.n_grants, sizeof(run->terms.grants[0]), compare);
    }
    if (gives_hosts && admit_net(a->config, &run->terms.net, err) < 0)
        return -1;
    run->terms.uses_grants |= run->terms.n_grants || gives_hosts;
    return 0;
}

/* Adds the grant that was opened behind the others. One that is there already goes. */
static int take_grant(struct run *run, struct error *err)
{
    struct run_grant *grant = &run->terms.grants[run->terms.n_grants];

    for (size_t i = 0; i < run->terms.n_grants; i++) {
        const struct run_grant *other = &run->terms.grants[i];

        if (strcmp(other->path, grant->path) != 0)
            continue;
        if (other->mode != grant->mode) {
            error_set(err, E_INVALID, "`%.200s` is granted twice, as `:%s` and as `:%s`",
                      grant->path, run_grant_mode_name(other->mode),
                      run_grant_mode_name(grant->mode));
            error_hint(err, "give one `--allow` for each directory");
        }
        grant_done(grant);
        return other->mode != grant->mode ? -1 : 0;
    }
    run->terms.n_grants++;
    return own_code_check(grant, err);
}

int grants_of_settings(const struct config *config, struct run *run, struct error *err)
{
    const struct config_list *allow = &config->allow;

    if (allow->count > LIMIT_GRANTS)
        return error_set(err, E_TOO_LARGE, "--allow: at most %d directories", LIMIT_GRANTS);
    if (allow->count && own_places_add(config, err) < 0)
        return -1;
    for (size_t i = 0; i < allow->count; i++) {
        cleanup_free char *path = NULL;
        enum run_grant_mode mode;

        if (config_parse_grant(allow->items[i], &path, &mode, err) < 0 ||
            grant_open(path, mode, &run->terms.grants[run->terms.n_grants], err) < 0 ||
            take_grant(run, err) < 0)
            return -1;
    }
    if (admit_net(config, &run->terms.net, err) < 0)
        return -1;
    qsort(run->terms.grants, run->terms.n_grants, sizeof(run->terms.grants[0]), compare);
    return 0;
}

int grants_open(const struct admission *admission, const struct run_request *request,
                bool has_files, struct run *run, struct error *err)
{
    if (admission->has_settings_grants)
        return grants_of_settings(admission->config, run, err);
    if (copy_granted(admission, request, run, err) < 0)
        return -1;
    if (!admission->caller)
        return 0;
    if (give_all(admission, request, has_files, run, err) < 0)
        return -1;
    if (open_allow(admission, &request->allow, run, err) < 0)
        return -1;
    return open_net(admission, &request->net, run, err);
}
