/* Belljar's own places on this host, and those that Belljar runs code from. The list only grows. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sandbox/fold.h"
#include "sandbox/protected_internal.h"

static struct {
    size_t count;
    struct {
        char *path;
        char *folded;
        size_t len;
        bool is_hidden;
    } items[PROTECTED_OWN_MAX];
} own;

const struct protected_name protected_own_row = {"(Belljar's own)", "it belongs to Belljar"};
static const struct protected_name run_row = {"(run by Belljar)", "Belljar runs or obeys it"};

const struct protected_name *protected_own_judge(const char *folded, size_t len)
{
    for (size_t i = 0; i < own.count; i++) {
        size_t n = own.items[i].len;

        if (n <= len && memcmp(folded, own.items[i].folded, n) == 0 &&
            (n == len || folded[n] == '/'))
            return own.items[i].is_hidden ? &protected_own_row : &run_row;
    }
    return NULL;
}

static int add_one(const char *path, bool is_hidden)
{
    char folded[PATH_MAX + FOLD_MAX];
    size_t n = 0;

    for (const char *at = path + strspn(path, "/"); *at && n + FOLD_MAX + 1 < sizeof(folded);
         at += strspn(at, "/")) {
        size_t raw = strcspn(at, "/");

        folded[n++] = '/';
        n += fold_name(at, raw, folded + n);
        at += raw;
    }
    for (size_t i = 0; i < own.count; i++)
        if (strcmp(own.items[i].path, path) == 0) {
            own.items[i].is_hidden |= is_hidden;
            return 0;
        }
    if (n == 0)
        return 0;
    if (own.count == PROTECTED_OWN_MAX)
        return -1;
    own.items[own.count].path = strdup(path);
    own.items[own.count].folded = strndup(folded, n);
    own.items[own.count].len = n;
    own.items[own.count].is_hidden = is_hidden;
    if (!own.items[own.count].path || !own.items[own.count].folded) {
        free(own.items[own.count].path);
        free(own.items[own.count].folded);
        return -1;
    }
    own.count++;
    return 0;
}

/* A path that does not exist yet is resolved through its parent. */
static char *resolve(const char *path)
{
    cleanup_free char *parent = NULL, *real = NULL;
    char *whole = realpath(path, NULL);
    const char *slash = strrchr(path, '/');

    if (whole || !slash || slash == path)
        return whole;
    parent = strndup(path, (size_t)(slash - path));
    real = parent ? resolve(parent) : NULL;
    return real && asprintf(&whole, "%s%s", strcmp(real, "/") == 0 ? "" : real, slash) >= 0 ? whole
                                                                                            : NULL;
}

static int add(const char *path, bool is_hidden)
{
    cleanup_free char *real = NULL;

    if (!path || *path != '/' || strlen(path) >= PATH_MAX)
        return 0;
    real = resolve(path);
    if (add_one(path, is_hidden) < 0)
        return -1;
    return real ? add_one(real, is_hidden) : 0;
}

int protected_add_own(const char *path)
{
    return add(path, true);
}

int protected_add_run(const char *path)
{
    return add(path, false);
}

bool protected_is_hidden(size_t index)
{
    return index < own.count && own.items[index].is_hidden;
}

const char *protected_own(size_t index)
{
    return index < own.count ? own.items[index].path : NULL;
}
