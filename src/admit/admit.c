#include "admit/admit.h"

#include <stdlib.h>

#include "admit/policy_place.h"
#include "base/cleanup.h"
#include "base/language.h"
#include "base/layer.h"
#include "base/net.h"
#include "base/paths.h"

int admit_load_named(const struct config *config, const char *name, struct profile **ret_profile,
                     struct error *err)
{
    cleanup_free char *ours = NULL;

    if (!*config->policies_dir) {
        ours = paths_data("policies", err);
        if (!ours)
            return -1;
    }
    return profile_load(name, ours ? ours : config->policies_dir, ret_profile, err);
}

int admit_load_profile(const struct config *config, struct profile **ret_profile, struct error *err)
{
    return admit_load_named(config, config->profile, ret_profile, err);
}

void admit_limits(const struct config *config, const struct profile *profile,
                  struct run_limits *limits)
{
    config_limits(config, CONFIG_DEFAULT, limits);
    if (profile)
        profile_apply_limits(profile, limits);
    config_limits(config, CONFIG_FILE, limits);
}

int admit_net(const struct config *config, struct net **ret_net, struct error *err)
{
    cleanup(net_unref_p) struct net *net = config->net.count ? net_new() : NULL;

    if (config->net.count && !net)
        return error_memory(err);
    for (size_t i = 0; i < config->net.count; i++)
        if (net_add(net, config->net.items[i], err) < 0)
            return error_wrap(err, "`net`");
    *ret_net = take_ptr(net);
    return 0;
}

static int check_places(const struct run *run, const struct config *config,
                        const struct profile *profile, struct error *err)
{
    /* Modules that every interpreter imports, and the record of what was run. */
    const char *const others[] = {config->helpers, config->trail_dir, config->policies_dir};
    const char *path;

    for (size_t i = 0; run->terms.n_grants && i < ARRAY_SIZE(others); i++)
        if (*others[i] && policy_place_check(run, others[i], "a directory of Belljar's", err) < 0)
            return -1;
    for (size_t i = 0; run->terms.n_grants && (path = profile_file(profile, i)); i++)
        if (policy_place_check(run, path, "the profile", err) < 0)
            return -1;
    for (size_t i = 0; run->terms.n_grants && i < ARRAY_SIZE(config->files); i++)
        if (policy_place_check(run, config->files[i], "the file of settings", err) < 0)
            return -1;
    return 0;
}

static bool has_writable_grant(const struct run_terms *terms)
{
    for (size_t i = 0; i < terms->n_grants; i++)
        if (terms->grants[i].mode != RUN_GRANT_RO)
            return true;
    return false;
}

/* Refuses requests for more than the level `process` has; nothing is left out in silence. */
static int check_process_level(const struct run_terms *terms, struct error *err)
{
    const struct {
        bool is_wanted;
        const char *what, *hint;
    } table[] = {
        {has_writable_grant(terms),
         "directories are granted for reading only (no `:rw`, no `:cow`)",
         "grant it `:ro`, write to the workspace, and collect the files from there"},
        {terms->net != NULL, "no host can be granted",
         "leave `net` out: get the data outside, and give it to the program as a file"},
        {terms->has_seed, "runs with a seed are not possible", "leave the seed out"},
        {terms->has_terminal, "a program cannot have a terminal", "run it without a terminal"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++)
        if (table[i].is_wanted) {
            error_set(err, E_UNSUPPORTED, "with isolation `process`, %s", table[i].what);
            return error_hint(err, "%s; or have the operator allow namespaces on this host",
                              table[i].hint);
        }
    return 0;
}

static int admit_level(struct run *run, const struct config *config, const struct profile *profile,
                       struct error *err)
{
    run->terms.is_on_host = config_is_process_level(config);
    run->terms.required_layers = profile_required_layers(profile);
    if (config->is_inside_machine) /* the server outside has made sure */
        run->terms.required_layers &= ~RUN_LAYER_MACHINE;
    if (!run->terms.is_on_host)
        return 0;
    if (!profile_allows_process_level(profile)) {
        error_set(err, E_UNSUPPORTED,
                  "profile `%s` requires namespaces, and isolation `process` has none",
                  profile_name(profile));
        return error_hint(err, "choose another profile; the operator can list in its "
                               "`isolation.process` the layers that are enough for it");
    }
    run->terms.required_layers = profile_process_layers(profile);
    return check_process_level(&run->terms, err);
}

int admit_run(struct run *run, const struct config *config, const struct profile *profile,
              struct error *err)
{
    if (profile_check_language(profile, run->program.language, err) < 0 ||
        language_check_installed(run->program.language, err) < 0)
        return -1;
    if (run->terms.n_grants && !profile_allows_grants(profile)) {
        error_set(err, E_DENIED, "profile `%s` has no files: no directory can be granted with it",
                  profile_name(profile));
        return error_hint(err, "use the profile `standard`");
    }
    if (check_places(run, config, profile, err) < 0)
        return -1;
    if (net_merge(&run->terms.net, profile_net(profile), err) < 0)
        return error_wrap(err, "`net`");
    admit_limits(config, profile, &run->terms.limits);
    run->terms.masking = config_masking(config);
    run->terms.profile = profile_name(profile);
    run->terms.policy = profile_encoded(profile);
    run->terms.may_spawn = profile_allows_processes(profile);
    run->terms.reach = profile_may_call(profile);
    return admit_level(run, config, profile, err);
}
