#include "admit/profile.h"

#include <string.h>

#include "admit/profile_internal.h"
#include "base/limits.h"
#include "base/net.h"

/* ---- encoding ---- */

uint32_t profile_bits(json_t *set, const char *const *words, size_t count)
{
    uint32_t bits = 0;

    for (size_t i = 0; i < count; i++)
        if (json_object_get(set, words[i]))
            bits |= 1u << i;
    return bits;
}

static size_t count_rows(const struct profile *p)
{
    size_t rows = 0;
    const char *key;
    json_t *value;

    for (int list = POLICY_IMPORT_ALLOW; list < POLICY_LIST_END; list++) {
        if (list != POLICY_IMPORT_FROM) {
            rows += json_object_size(p->sets[list]);
            continue;
        }
        json_object_foreach(p->sets[list], key, value) rows += json_object_size(value);
    }
    return rows;
}

static void fill_rows(const struct profile *p, struct wire_policy *policy)
{
    const char *key, *name;
    json_t *value, *unused;

    for (int list = POLICY_IMPORT_ALLOW; list < POLICY_LIST_END; list++) {
        json_object_foreach(p->sets[list], key, value)
        {
            struct policy_row row = {.list = (enum policy_list)list, .key = span_of(key)};

            if (list == POLICY_HINT)
                row.value = span_of(json_string_value(value));
            if (list != POLICY_IMPORT_FROM) {
                policy->rows[policy->n_rows++] = row;
                continue;
            }
            json_object_foreach(value, name, unused)
            {
                row.value = span_of(name);
                policy->rows[policy->n_rows++] = row;
            }
        }
    }
}

static int encode(struct profile *p, struct error *err)
{
    cleanup_free struct policy_row *rows = calloc(count_rows(p) + 1, sizeof(*rows));
    struct wire_policy policy = {
        .profile = span_of(p->name),
        .flags = (p->is_listed ? (unsigned)POLICY_IMPORTS_LISTED : 0) |
                 (p->has_dunder ? 0 : (unsigned)POLICY_DUNDER_DENIED) |
                 (p->has_processes ? 0 : (unsigned)POLICY_NO_PROCESSES) |
                 (p->has_project ? (unsigned)POLICY_PROJECT_ALLOWED : 0) |
                 (p->has_parts ? (unsigned)POLICY_PARTS_SHOWN : 0),
        .powers = profile_bits(p->powers, profile_powers, ARRAY_SIZE(profile_powers)),
        .max_bytes = (uint32_t)p->max_bytes,
        .max_lines = (uint32_t)p->max_lines,
        .rows = rows,
    };

    if (!rows)
        return error_memory(err);
    if (policy.powers & POWER_FILES)
        policy.powers |= POWER_WORKSPACE;
    fill_rows(p, &policy);
    pack_init(&p->encoded, POLICY_BYTES_MAX);
    wire_policy_encode(&policy, &p->encoded);
    if (p->encoded.failed)
        return error_set(err, E_TOO_LARGE, "profile `%s` is too large: at most %d entries", p->name,
                         POLICY_ROWS_MAX);
    return 0;
}

/* ---- loading ---- */

/* Everything that is not said is refused. */
static struct profile *profile_new(const char *name, const char *system_dir)
{
    struct profile *p = calloc(1, sizeof(*p));
    const char *base = strrchr(name, '/');
    size_t len;

    if (!p)
        return NULL;
    base = base ? base + 1 : name;
    len = strlen(base);
    if (len > 5 && strcmp(base + len - 5, ".toml") == 0)
        len -= 5;
    p->name = strndup(base, len < 64 ? len : 64);
    p->system_dir = system_dir ? strdup(system_dir) : NULL;
    p->is_listed = true;
    p->max_bytes = LIMIT_CODE_BYTES;
    p->max_lines = LIMIT_CODE_BYTES;
    p->languages = json_object();
    p->layers = json_object();
    p->process_layers = json_object();
    p->powers = json_object();
    p->reach = json_object();
    if (!p->name || !p->languages || !p->layers || !p->process_layers || !p->powers || !p->reach)
        goto fail;
    for (int list = POLICY_IMPORT_ALLOW; list < POLICY_LIST_END; list++) {
        p->sets[list] = json_object();
        if (!p->sets[list])
            goto fail;
    }
    return p;
fail:
    profile_free(p);
    return NULL;
}

static void profile_free_p(struct profile **profile)
{
    profile_free(*profile);
}

int profile_load(const char *name, const char *system_dir, struct profile **ret_profile,
                 struct error *err)
{
    cleanup(profile_free_p) struct profile *p = profile_new(name, system_dir);
    cleanup(profile_chain_done) struct profile_chain chain = {0};

    if (!p)
        return error_memory(err);
    if (profile_chain_load(&chain, name, system_dir, err) < 0)
        return -1;
    for (size_t i = chain.count; i-- > 0;) {
        const struct profile_source source = {.path = chain.paths[i], .profile = p};

        if (profile_read(&source, chain.trees[i], err) < 0)
            return -1;
    }
    if (json_object_size(p->languages) == 0) {
        error_set(err, E_INVALID, "%s: the profile allows no language", chain.paths[0]);
        return error_hint(err, "add `languages = [\"python\"]`");
    }
    if (encode(p, err) < 0)
        return -1;
    for (; p->n_paths < chain.count; p->n_paths++)
        p->paths[p->n_paths] = take_ptr(chain.paths[p->n_paths]);
    *ret_profile = take_ptr(p);
    return 0;
}

void profile_free(struct profile *profile)
{
    if (!profile)
        return;
    for (int list = 0; list < POLICY_LIST_END; list++)
        json_decref(profile->sets[list]);
    json_decref(profile->languages);
    json_decref(profile->layers);
    json_decref(profile->process_layers);
    json_decref(profile->powers);
    json_decref(profile->reach);
    net_unref(profile->net);
    pack_done(&profile->encoded);
    free(profile->name);
    free(profile->system_dir);
    for (size_t i = 0; i < profile->n_paths; i++)
        free(profile->paths[i]);
    free(profile);
}

/* ---- asking ---- */

const char *profile_file(const struct profile *profile, size_t index)
{
    return index < profile->n_paths ? profile->paths[index] : NULL;
}

const char *profile_name(const struct profile *profile)
{
    return profile->name;
}

static bool serves(const struct profile *profile, enum run_language language)
{
    return json_object_get(profile->languages, languages[languages[language].kernel].name) != NULL;
}

/* The ready profiles that do serve the language, widest last, as words for a hint. */
static void hint_serving(const struct profile *profile, enum run_language language,
                         struct error *err)
{
    static const char *const candidates[] = {"standard", "open"};
    const char *found[ARRAY_SIZE(candidates)];
    size_t count = 0;

    for (size_t i = 0; i < ARRAY_SIZE(candidates); i++) {
        struct profile *other = NULL;

        if (profile_load(candidates[i], profile->system_dir, &other, NULL) < 0)
            continue;
        if (serves(other, language))
            found[count++] = candidates[i];
        profile_free(other);
    }
    if (count == 2)
        error_hint(err, "use the profile `%s` or `%s`", found[0], found[1]);
    else if (count == 1)
        error_hint(err, "use the profile `%s`", found[0]);
}

int profile_check_language(const struct profile *profile, enum run_language language,
                           struct error *err)
{
    if (serves(profile, language))
        return 0;
    if (language == RUN_COMMAND)
        error_set(err, E_DENIED,
                  "profile `%s` does not run commands: its rules are about Python, and no policy "
                  "can read other programs",
                  profile->name);
    else if (language != RUN_PYTHON)
        error_set(err, E_DENIED,
                  "profile `%s` does not run %s: its rules are about Python, and no policy can "
                  "read %s",
                  profile->name, languages[language].name, languages[language].title);
    else
        error_set(err, E_DENIED, "profile `%s` does not run python", profile->name);
    hint_serving(profile, language, err);
    return -1;
}

bool profile_allows_processes(const struct profile *profile)
{
    return profile->has_processes;
}

bool profile_allows_grants(const struct profile *profile)
{
    return profile->has_grants;
}

uint32_t profile_required_layers(const struct profile *profile)
{
    return profile_bits(profile->layers, profile_layers, ARRAY_SIZE(profile_layers));
}

bool profile_allows_process_level(const struct profile *profile)
{
    return profile->has_process;
}

uint32_t profile_process_layers(const struct profile *profile)
{
    return profile_bits(profile->process_layers, profile_layers, ARRAY_SIZE(profile_layers));
}

uint32_t profile_may_call(const struct profile *profile)
{
    return profile_bits(profile->reach, profile_reach, ARRAY_SIZE(profile_reach));
}

struct span profile_encoded(const struct profile *profile)
{
    return (struct span){(const char *)profile->encoded.data, profile->encoded.len};
}

struct net *profile_net(const struct profile *profile)
{
    return profile->net;
}
