#include "admit/workdir.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/paths.h"
#include "sandbox/places.h"

#define WORKSPACE "/workspace"

static int take(const char *path, struct run *run, struct error *err)
{
    free(run->terms.workdir);
    run->terms.workdir = strdup(path);
    return run->terms.workdir ? 0 : error_memory(err);
}

static bool is_granted(const struct run *run, const char *path)
{
    for (size_t i = 0; i < run->terms.n_grants; i++)
        if (paths_below(path, run->terms.grants[i].path))
            return true;
    return false;
}

/* Sets *ret_found where the program may start there. Grants have resolved paths, so links are
 * followed here; a path that does not exist is in no grant. */
static int take_named(const char *named, struct run *run, bool *ret_found, struct error *err)
{
    cleanup_free char *real = NULL;

    *ret_found = strcmp(named, WORKSPACE) == 0;
    if (*ret_found)
        return 0;
    real = realpath(named, NULL);
    *ret_found = real && is_granted(run, real);
    if (*ret_found)
        return take(real, run, err);
    *ret_found = strcmp(named, PLACES_HOME) == 0;
    return 0;
}

static int refuse(const char *named, const struct run *run, struct error *err)
{
    error_set(err, E_DENIED, "`workdir`: `%.200s` is not a granted directory", named);
    if (!run->terms.n_grants)
        return error_hint(err,
                          "nothing is granted; grant a directory with `--allow DIR` or `allow` in "
                          "the request");
    return error_hint(err, "name " WORKSPACE " or a directory in `%s`", run->terms.grants[0].path);
}

/* The grants are sorted: the outermost comes first. */
static int take_only(struct run *run, struct error *err)
{
    for (size_t i = 1; i < run->terms.n_grants; i++)
        if (!paths_below(run->terms.grants[i].path, run->terms.grants[0].path))
            return 0;
    return run->terms.n_grants ? take(run->terms.grants[0].path, run, err) : 0;
}

/* `is_strict`: the settings were written for these very grants. A server's requests may have fewer,
 * and then start where they would without the setting. */
static int take_settings(const struct config *config, bool is_strict, struct run *run,
                         bool *ret_found, struct error *err)
{
    *ret_found = false;
    if (!*config->workdir)
        return 0;
    if (take_named(config->workdir, run, ret_found, err) < 0)
        return -1;
    return !*ret_found && is_strict ? refuse(config->workdir, run, err) : 0;
}

int workdir_of_settings(const struct config *config, struct run *run, struct error *err)
{
    bool is_found;

    if (take_settings(config, true, run, &is_found, err) < 0)
        return -1;
    return is_found ? 0 : take_only(run, err);
}

int workdir_choose(const struct admission *a, const struct run_request *request, struct run *run,
                   struct error *err)
{
    bool is_found = false;

    if (request->workdir) {
        if (take_named(request->workdir, run, &is_found, err) < 0)
            return -1;
        return is_found ? 0 : refuse(request->workdir, run, err);
    }
    if (take_settings(a->config, a->has_settings_grants, run, &is_found, err) < 0)
        return -1;
    if (is_found || request->n_files || request->has_collect)
        return 0;
    return take_only(run, err);
}
