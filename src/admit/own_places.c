#include "admit/own_places.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "admit/own_code.h"
#include "base/cleanup.h"
#include "base/paths.h"
#include "sandbox/protected.h"

static const struct {
    const char *variable, *below_home;
    bool is_hidden; /* false: environments, which programs are shown */
} usual[] = {
    {"XDG_CONFIG_HOME", ".config", true},
    {"XDG_STATE_HOME", ".local/state", true},
    {"XDG_RUNTIME_DIR", NULL, true},
    {"XDG_DATA_HOME", ".local/share", false},
};

static int add(const char *path, bool is_hidden, struct error *err)
{
    cleanup_free char *real = path && *path && *path != '/' ? realpath(path, NULL) : NULL;

    if (!path || !*path)
        return 0;
    if ((is_hidden ? protected_add_own(real ? real : path)
                   : protected_add_run(real ? real : path)) < 0)
        return error_set(err, E_TOO_LARGE, "the configuration names too many files to protect");
    return 0;
}

static int add_below(const char *dir, const char *between, bool is_hidden, struct error *err)
{
    char path[PATH_MAX];

    if (!dir || *dir != '/' ||
        (size_t)snprintf(path, sizeof(path), "%s/%s%sbelljar", dir, between, *between ? "/" : "") >=
            sizeof(path))
        return 0;
    return add(path, is_hidden, err);
}

static int add_usual(struct error *err)
{
    for (size_t i = 0; i < ARRAY_SIZE(usual); i++) {
        if (add_below(getenv(usual[i].variable), "", usual[i].is_hidden, err) < 0 ||
            (usual[i].below_home &&
             add_below(getenv("HOME"), usual[i].below_home, usual[i].is_hidden, err) < 0))
            return -1;
    }
    return 0;
}

/* Our own programs: a checkout of Belljar may be granted, too. Those beside this one are looked for
 * first, so that their places count even while nothing is there. */
static int add_programs(struct error *err)
{
    static const char *const names[] = {"belljar-zygote", "belljar-broker", "belljar-listener",
                                        "belljar-steady.so"};
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    const char *slash;

    if (n <= 0)
        return 0;
    self[n] = '\0';
    if (add(self, false, err) < 0)
        return -1;
    slash = strrchr(self, '/');
    for (size_t i = 0; slash && i < ARRAY_SIZE(names); i++) {
        cleanup_error struct error ignored = {0};
        cleanup_free char *used = paths_program(names[i], &ignored);
        char beside[PATH_MAX];

        if (used && add(used, false, err) < 0)
            return -1;
        if ((size_t)snprintf(beside, sizeof(beside), "%.*s/%s", (int)(slash - self), self,
                             names[i]) < sizeof(beside) &&
            add(beside, false, err) < 0)
            return -1;
    }
    return 0;
}

/* The directories that a program in `bin` takes the rest of Belljar from, even while they are not
 * there. */
static int add_prefix(struct error *err)
{
    static const char *const inside[] = {BELLJAR_LIBEXEC, BELLJAR_SHARE};

    for (size_t i = 0; i < ARRAY_SIZE(inside); i++) {
        cleanup_free char *dir = NULL;

        if (paths_in_prefix(inside[i], &dir, err) < 0 || add(dir, false, err) < 0)
            return -1;
    }
    return 0;
}

static int add_named(const struct config *config, struct error *err)
{
    const char *const hidden[] = {config->files[0],    config->files[1],     config->trail_dir,
                                  config->socket,      config->tls_key,      config->token_file,
                                  config->tokens_file, config->masking_file, config->policies_dir};

    for (size_t i = 0; i < ARRAY_SIZE(hidden); i++)
        if (add(hidden[i], true, err) < 0)
            return -1;
    return add(config->tls_cert, false, err) < 0 ? -1 : own_code_add(config, err);
}

int own_places_add(const struct config *config, struct error *err)
{
    if (add_usual(err) < 0 || add_programs(err) < 0 || add_prefix(err) < 0)
        return -1;
    return config ? add_named(config, err) : 0;
}
