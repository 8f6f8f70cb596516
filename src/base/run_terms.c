#include "base/run_terms.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/net.h"

void run_strings_free(char **strings)
{
    for (char **entry = strings; entry && *entry; entry++)
        free(*entry);
    free(strings);
}

void run_terms_init(struct run_terms *terms)
{
    *terms = (struct run_terms){.masking = RUN_MASK_SECRETS};
    run_limits_init(&terms->limits);
    for (size_t i = 0; i < LIMIT_GRANTS; i++)
        terms->grants[i].fd = -1;
}

void run_terms_done(struct run_terms *terms)
{
    free(terms->environment);
    free(terms->workdir);
    run_strings_free(terms->env);
    run_strings_free(terms->identity);
    for (size_t i = 0; i < terms->n_grants; i++) {
        free(terms->grants[i].path);
        close_fd(&terms->grants[i].fd);
    }
    net_unref(terms->net);
}

void run_terms_lend(struct run_terms *cell, const struct run_terms *session)
{
    cell->profile = session->profile;
    cell->policy = session->policy;
    cell->required_layers = session->required_layers;
    cell->is_on_host = session->is_on_host;
    cell->may_spawn = session->may_spawn;
    cell->reach = session->reach;
    cell->limits = session->limits;
    cell->uses_grants = session->uses_grants;
}

static char **copy_strings(char *const *strings)
{
    size_t n = 0;
    char **copy;

    while (strings[n])
        n++;
    copy = calloc(n + 1, sizeof(*copy));
    for (size_t i = 0; copy && i < n; i++) {
        copy[i] = strdup(strings[i]);
        if (!copy[i]) {
            run_strings_free(copy);
            return NULL;
        }
    }
    return copy;
}

static int copy_grants(struct run_terms *copy, const struct run_terms *terms)
{
    for (size_t i = 0; i < terms->n_grants; i++) {
        const struct run_grant *grant = &terms->grants[i];
        int fd = fcntl(grant->fd, F_DUPFD_CLOEXEC, 3);

        copy->grants[copy->n_grants++] =
            (struct run_grant){.path = strdup(grant->path), .fd = fd, .mode = grant->mode};
        if (fd < 0 || !copy->grants[i].path)
            return -1;
    }
    return 0;
}

int run_terms_copy(struct run_terms *copy, const struct run_terms *terms)
{
    run_terms_lend(copy, terms);
    copy->masking = terms->masking;
    memcpy(copy->ports, terms->ports, sizeof(copy->ports));
    copy->n_ports = terms->n_ports;
    copy->net = net_ref(terms->net);
    if (terms->env && !(copy->env = copy_strings(terms->env)))
        return -1;
    if (terms->identity && !(copy->identity = copy_strings(terms->identity)))
        return -1;
    if (terms->workdir && !(copy->workdir = strdup(terms->workdir)))
        return -1;
    return copy_grants(copy, terms);
}

int run_terms_add_env(struct run_terms *terms, const char *name, const char *value,
                      struct error *err)
{
    size_t count = 0;
    char **env;

    while (terms->env && terms->env[count])
        count++;
    if (count == LIMIT_ENV_COUNT)
        return error_set(err, E_TOO_LARGE, "more than %d variables", LIMIT_ENV_COUNT);
    env = realloc(terms->env, (count + 2) * sizeof(*env));
    if (!env)
        return error_memory(err);
    terms->env = env;
    if (asprintf(&env[count], "%s=%s", name, value) < 0)
        env[count] = NULL;
    env[count + 1] = NULL;
    return env[count] ? 0 : error_memory(err);
}
