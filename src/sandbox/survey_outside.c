/* What is protected in the tree because of something outside of it: a home directory next to the
 * grant, or around it, whose start-up files are links into the tree. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "sandbox/survey_internal.h"

static int add_home(struct survey *s, const char *home, struct error *err)
{
    size_t i = 0;

    if (!home || home[0] != '/' || !home[1])
        return 0;
    for (; i < SURVEY_HOMES && s->homes[i]; i++)
        if (strcmp(s->homes[i], home) == 0)
            return 0;
    if (i == SURVEY_HOMES)
        return 0;
    s->homes[i] = strdup(home);
    return s->homes[i] ? 0 : error_memory(err);
}

static bool is_around(const char *home, const char *path)
{
    size_t len = strlen(home);

    return strncmp(path, home, len) == 0 && path[len] == '/';
}

/* That of the environment, that of the acting user, and those that the grant lies in. /etc/passwd
 * is read by hand: the C library would load modules and ask servers. */
int survey_find_homes(struct survey *s, struct error *err)
{
    cleanup_fclose FILE *users = NULL;
    cleanup_free char *line = NULL;
    size_t size = 0;

    if (add_home(s, getenv("HOME"), err) < 0)
        return -1;
    users = file_open_stream(-1, "/etc/passwd");
    while (users && getline(&line, &size, users) > 0) {
        char *rest = line, *field[6] = {0};

        for (int i = 0; i < 6 && rest; i++)
            field[i] = strsep(&rest, ":");
        if (!field[5] || field[5][0] != '/' || !field[5][1])
            continue;
        if ((strtoul(field[2], NULL, 10) == geteuid() || is_around(field[5], s->path)) &&
            add_home(s, field[5], err) < 0)
            return -1;
    }
    return 0;
}

/* `path` is a link outside. *ret_is_there: whether anything is there, so that further names are
 * worth a look. */
static int look_at(struct survey *s, const char *path, const struct protected_state *state,
                   bool *ret_is_there, struct error *err)
{
    cleanup_free char *full = NULL;
    char target[PATH_MAX];
    ssize_t n = readlink(path, target, sizeof(target) - 1);
    const char *slash = strrchr(path, '/');

    *ret_is_there = n >= 0 || errno == EINVAL;
    if (n < 0)
        return 0;
    target[n] = '\0';
    if (asprintf(&full, "%.*s/%s", (int)(slash - path), path, target) < 0) {
        full = NULL;
        return error_memory(err);
    }
    return survey_lead(s, "", target[0] == '/' ? target : full, state, err);
}

/* Each name of one pattern, from the home on, as far as there is something. *ret_missing: how much
 * of the pattern was not there. */
static int look_for(struct survey *s, const char *home, const char *pattern, size_t *ret_missing,
                    struct error *err)
{
    struct protected_state state = {0};
    char path[PATH_MAX];

    *ret_missing = 0;
    for (const char *at = pattern; *at;) {
        size_t len = strcspn(at, "/"), whole = (size_t)(at - pattern) + len;
        bool is_there;

        if ((size_t)snprintf(path, sizeof(path), "%s/%.*s", home, (int)whole, pattern) >=
            sizeof(path))
            return 0;
        protected_step(&state, at, len);
        if (look_at(s, path, &state, &is_there, err) < 0)
            return -1;
        if (!is_there) {
            *ret_missing = whole;
            return 0;
        }
        at += len + (at[len] == '/');
    }
    return 0;
}

static int look_in(struct survey *s, const char *home, struct error *err)
{
    size_t count, missing = 0;
    const struct protected_name *rows = protected_names(&count);

    for (size_t i = 0; i < count; i++) {
        const char *pattern = rows[i].pattern;

        if (pattern[0] == '/' || strchr(pattern, '*'))
            continue;
        /* Rows that begin alike mostly stand together. */
        if (missing && i > 0 && strncmp(pattern, rows[i - 1].pattern, missing) == 0 &&
            pattern[missing] == '/')
            continue;
        if (look_for(s, home, pattern, &missing, err) < 0)
            return -1;
    }
    return 0;
}

int survey_outside(struct survey *s, struct error *err)
{
    for (size_t i = 0; i < SURVEY_HOMES && s->homes[i]; i++)
        if (look_in(s, s->homes[i], err) < 0)
            return -1;
    return 0;
}
