#include "sandbox/own_places.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/homes.h"
#include "base/paths.h"
#include "sandbox/protected.h"

#define PLACES_MAX 255 /* one less than the message takes */

static const char *const in_homes[] = {".config/belljar", ".local/state/belljar"};

struct search {
    const struct run_grant *grants;
    size_t n_grants;
    struct hidden *hidden;
    size_t count;
    struct error *err;
};

static bool is_granted(const struct search *s, const char *path)
{
    for (size_t i = 0; i < s->n_grants; i++) {
        const char *rest = paths_below(path, s->grants[i].path);

        if (rest && *rest)
            return true;
    }
    return false;
}

/* Ours, and not there yet. Whoever else may write to the directory above could put a link there,
 * but that is not our home then. */
static void make_private(const char *path)
{
    cleanup_free char *part = strdup(path);

    for (char *slash = part ? strchr(part + 1, '/') : NULL; slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(part, 0700);
        *slash = '/';
    }
    (void)mkdir(path, 0700);
}

static int add(struct search *s, const char *path)
{
    cleanup_free char *real = realpath(path, NULL);

    if (!real || !is_granted(s, real))
        return 0;
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->hidden->paths[i], real) == 0)
            return 0;
    if (s->count == PLACES_MAX)
        return error_set(s->err, E_TOO_LARGE,
                         "the granted directories hold more than %d directories of Belljar's own",
                         PLACES_MAX);
    s->hidden->paths[s->count++] = take_ptr(real);
    return 0;
}

static int add_configured(struct search *s)
{
    const char *path;

    for (size_t i = 0; (path = protected_own(i)); i++) {
        const char *name = strrchr(path, '/');
        struct stat st;

        if (!protected_is_hidden(i))
            continue;
        if (is_granted(s, path) && name && strcmp(name, "/belljar") == 0 && stat(path, &st) < 0 &&
            errno == ENOENT)
            make_private(path);
        if (add(s, path) < 0)
            return -1;
    }
    return 0;
}

static int add_home(struct search *s, const char *home)
{
    for (size_t i = 0; i < ARRAY_SIZE(in_homes); i++) {
        char path[PATH_MAX];

        if ((size_t)snprintf(path, sizeof(path), "%s/%s", home, in_homes[i]) < sizeof(path) &&
            add(s, path) < 0)
            return -1;
    }
    return 0;
}

static int on_home(void *arg, uid_t uid, const char *home, struct error *err)
{
    (void)uid;
    (void)err; /* that of the search */
    return add_home(arg, home);
}

static int add_homes(struct search *s)
{
    if (homes_each(HOMES_PASSWD, on_home, s, s->err) < 0)
        return -1;
    for (size_t i = 0; i < s->n_grants; i++)
        if (add_home(s, s->grants[i].path) < 0)
            return -1;
    return 0;
}

int hidden_find(const struct run_grant *grants, size_t count, struct hidden *ret_hidden,
                struct error *err)
{
    struct search s = {grants, count, ret_hidden, 0, err};

    ret_hidden->paths = calloc(PLACES_MAX + 1, sizeof(char *));
    if (!ret_hidden->paths)
        return error_memory(err);
    if (!count)
        return 0;
    return add_configured(&s) < 0 ? -1 : add_homes(&s);
}

void hidden_done(struct hidden *hidden)
{
    for (size_t i = 0; hidden->paths && hidden->paths[i]; i++)
        free(hidden->paths[i]);
    free(hidden->paths);
    hidden->paths = NULL;
}
