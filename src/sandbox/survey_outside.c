/* Finds files that are protected because of something outside the tree: a home directory next to
 * the grant, or around it, whose start-up files are links into the tree. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/homes.h"
#include "base/paths.h"
#include "sandbox/survey_internal.h"

static int add_home(struct survey_outside *o, const char *home, struct error *err)
{
    size_t i = 0;

    if (!home || home[0] != '/' || !home[1])
        return 0;
    for (; i < SURVEY_HOMES && o->homes[i]; i++)
        if (strcmp(o->homes[i], home) == 0)
            return 0;
    if (i == SURVEY_HOMES) {
        error_set(err, E_TOO_LARGE, "more than %d home directories lie around it", SURVEY_HOMES);
        return error_hint(err, "grant a directory in one of them");
    }
    o->homes[i] = strdup(home);
    return o->homes[i] ? 0 : error_memory(err);
}

struct home_search {
    struct survey_outside *o;
    const char *grant;
};

static int on_home(void *arg, uid_t uid, const char *home, struct error *err)
{
    const struct home_search *s = arg;
    const char *rest = paths_below(s->grant, home);

    return uid == geteuid() || (rest && *rest) ? add_home(s->o, home, err) : 0;
}

/* That of the environment, that of the acting user, and those that the grant lies in. */
static int find_homes(struct survey_outside *o, const char *grant, struct error *err)
{
    if (add_home(o, getenv("HOME"), err) < 0)
        return -1;
    return homes_each(HOMES_PASSWD, on_home, &(struct home_search){o, grant}, err);
}

/* --- links --- */

static int add_lead(struct survey_outside *o, const char *target,
                    const struct protected_state *state, struct error *err)
{
    struct survey_place *grown = array_grow(o->leads, o->n_leads, &o->leads_size, sizeof(*grown));
    char *copy = grown ? strdup(target) : NULL;

    if (grown)
        o->leads = grown;
    if (!copy)
        return error_memory(err);
    o->leads[o->n_leads++] = (struct survey_place){copy, *state};
    return 0;
}

/* *ret_is_there: whether anything is there, so that further names are worth a look. A link is kept
 * by its own words and by where it leads now. */
static int look_at(struct survey_outside *o, const char *path, const struct protected_state *state,
                   bool *ret_is_there, struct error *err)
{
    cleanup_free char *full = NULL, *real = NULL;
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
    real = realpath(path, NULL);
    if (real && add_lead(o, real, state, err) < 0)
        return -1;
    return add_lead(o, target[0] == '/' ? target : full, state, err);
}

/* Each name of one pattern, from the home on, as far as there is something. *ret_missing: how much
 * of the pattern was not there. */
static int look_for(struct survey_outside *o, const char *home, const char *pattern,
                    size_t *ret_missing, struct error *err)
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
        if (look_at(o, path, &state, &is_there, err) < 0)
            return -1;
        if (!is_there) {
            *ret_missing = whole;
            return 0;
        }
        at += len + (at[len] == '/');
    }
    return 0;
}

static int look_in(struct survey_outside *o, const char *home, struct error *err)
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
        if (look_for(o, home, pattern, &missing, err) < 0)
            return -1;
    }
    return 0;
}

/* --- git's settings --- */

/* One that is too large is kept as such, and ends the survey. */
static int read_one(struct survey_outside *o, const char *dir, const char *name, struct error *err)
{
    cleanup_free char *path = survey_join(dir, name);
    cleanup_close int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    struct survey_file *file = &o->files[o->n_files];
    struct stat st;

    if (!path)
        return error_memory(err);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || o->n_files == SURVEY_FILES)
        return 0;
    buf_init(&file->text, SURVEY_FILE_BYTES);
    file->is_too_large = buf_read_fd(&file->text, fd, NULL) < 0;
    file->path = take_ptr(path);
    o->n_files++;
    return 0;
}

static int read_settings(struct survey_outside *o, struct error *err)
{
    const char *xdg = getenv("XDG_CONFIG_HOME");

    if (read_one(o, "/etc", "gitconfig", err) < 0 ||
        (xdg && *xdg == '/' && read_one(o, xdg, "git/config", err) < 0))
        return -1;
    for (size_t i = 0; i < SURVEY_HOMES && o->homes[i]; i++)
        if (read_one(o, o->homes[i], ".gitconfig", err) < 0 ||
            read_one(o, o->homes[i], ".config/git/config", err) < 0)
            return -1;
    return 0;
}

/* --- the whole --- */

int survey_outside_new(const char *path, struct survey_outside **ret_outside, struct error *err)
{
    struct survey_outside *o = calloc(1, sizeof(*o));
    int r = o ? find_homes(o, path, err) : error_memory(err);

    for (size_t i = 0; r == 0 && i < SURVEY_HOMES && o->homes[i]; i++)
        r = look_in(o, o->homes[i], err);
    if (r == 0)
        r = read_settings(o, err);
    if (r < 0)
        survey_outside_free(o);
    else
        *ret_outside = o;
    return r;
}

void survey_outside_free(struct survey_outside *o)
{
    if (!o)
        return;
    for (size_t i = 0; i < SURVEY_HOMES; i++)
        free(o->homes[i]);
    for (size_t i = 0; i < o->n_leads; i++)
        free(o->leads[i].path);
    for (size_t i = 0; i < o->n_files; i++) {
        free(o->files[i].path);
        buf_done(&o->files[i].text);
    }
    free(o->leads);
    free(o);
}

int survey_outside_leads(struct survey *s, struct error *err)
{
    for (size_t i = 0; i < s->outside->n_leads; i++)
        if (survey_lead(s, "", s->outside->leads[i].path, &s->outside->leads[i].state, err) < 0)
            return -1;
    return 0;
}
