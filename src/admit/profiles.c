#include "admit/profiles.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/paths.h"

#define PROFILES_MAX 64

/* Of a policy that zygotes read in advance: all together have to fit into one message. */
#define USUAL_BYTES_MAX ((size_t)64 * 1024)

struct profiles {
    char *dir;
    struct profile *own;
    struct profile *others[PROFILES_MAX];
    size_t count;
    struct profiles *older; /* that runs and sessions may still use */
};

/* Loads a profile, and tells the operator of old spellings in it. */
static int load(const char *name, const char *dir, struct profile **ret_profile, struct error *err)
{
    char text[128];

    if (profile_load(name, dir, ret_profile, err) < 0)
        return -1;
    for (size_t i = 0; profile_old_limit(*ret_profile, i, text, sizeof(text)); i++)
        LOG_EVENT(LOG_WARNING, "profile", {"profile", profile_name(*ret_profile)}, {"hint", text});
    return 0;
}

/* Those of a directory. */
static int open_in(char *dir, const struct config *config, struct profiles **ret_profiles,
                   struct error *err)
{
    struct profiles *p = calloc(1, sizeof(*p));

    if (!p) {
        free(dir);
        return error_memory(err);
    }
    p->dir = dir;
    if (!dir || load(config->profile, dir, &p->own, err) < 0) {
        profiles_free(p);
        return err && err->code != E_NONE ? -1 : error_memory(err);
    }
    *ret_profiles = p;
    return 0;
}

int profiles_read_again(const struct profiles *p, const struct config *config,
                        struct profiles **ret_profiles, struct error *err)
{
    return open_in(strdup(p->dir), config, ret_profiles, err);
}

int profiles_open(const struct config *config, struct profiles **ret_profiles, struct error *err)
{
    return open_in(*config->policies_dir ? strdup(config->policies_dir)
                                         : paths_data("policies", err),
                   config, ret_profiles, err);
}

void profiles_replace(struct profiles *p, struct profiles *next)
{
    struct profiles older = *p;

    *p = *next;
    *next = older;
    p->older = next;
}

void profiles_free(struct profiles *p)
{
    while (p) {
        struct profiles *older = p->older;

        for (size_t i = 0; i < p->count; i++)
            profile_free(p->others[i]);
        profile_free(p->own);
        free(p->dir);
        free(p);
        p = older;
    }
}

int profiles_get(struct profiles *p, const char *name, const struct profile **ret_profile,
                 struct error *err)
{
    if (!name || strcmp(name, profile_name(p->own)) == 0) {
        *ret_profile = p->own;
        return 0;
    }
    for (size_t i = 0; i < p->count; i++)
        if (strcmp(name, profile_name(p->others[i])) == 0) {
            *ret_profile = p->others[i];
            return 0;
        }
    if (strchr(name, '/') || p->count == PROFILES_MAX)
        return error_set(err, E_INVALID, "`profile` is the name of a profile, not a path");
    if (load(name, p->dir, &p->others[p->count], err) < 0) {
        if (err && err->code == E_NOT_FOUND)
            err->code = E_INVALID; /* the path of the request is fine, the field is not */
        return -1;
    }
    *ret_profile = p->others[p->count++];
    return 0;
}

static void add_policy(struct wire_policies *policies, const struct profile *profile)
{
    struct span encoded = profile_encoded(profile);

    for (uint32_t i = 0; i < policies->count; i++)
        if (policies->items[i].data == encoded.data)
            return;
    if (policies->count < WIRE_POLICIES_MAX && encoded.len <= USUAL_BYTES_MAX)
        policies->items[policies->count++] = encoded;
}

struct wire_policies profiles_usual(struct profiles *p)
{
    static const char *const names[] = {"strict", "standard", "open"};
    struct wire_policies policies = {0};
    const struct profile *profile;

    add_policy(&policies, p->own);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (profiles_get(p, names[i], &profile, NULL) == 0)
            add_policy(&policies, profile);
    return policies;
}
