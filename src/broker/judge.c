#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "broker/internal.h"

/* Names of a file are looked for in its own directory only, and in so many entries. */
#define SIBLINGS_MAX 10000

/* The number of ancestors of a directory that are checked. */
#define ANCESTORS_MAX 4096

static void report(struct broker *b, const char *what, const char *why)
{
    struct broker_report *r = b->report;

    for (uint32_t i = 0; i < r->n_denials; i++)
        if (strcmp(r->denials[i].what, what) == 0) {
            r->denials[i].count++;
            return;
        }
    if (r->n_denials == BROKER_DENIALS) {
        r->denials_more++;
        return;
    }
    struct broker_denial *denial = &r->denials[r->n_denials];

    (void)snprintf(denial->what, sizeof(denial->what), "%s", what);
    (void)snprintf(denial->why, sizeof(denial->why), "%s", why);
    denial->count = 1;
    /* Last: whoever reads it finds the entry whole. */
    __atomic_store_n(&r->n_denials, r->n_denials + 1, __ATOMIC_RELEASE);
}

void judge_note(struct broker *b, const char *what, const char *why)
{
    report(b, what, why);
}

static void full_path(const struct place *place, char path[2 * PATH_MAX])
{
    (void)snprintf(path, 2 * (size_t)PATH_MAX, "%s%s%s", place->grant->path,
                   *place->path ? "/" : "", place->path);
}

long judge_refuse(struct broker *b, const struct place *place, const char *verb, const char *why,
                  int errnum)
{
    char path[2 * PATH_MAX], what[BROKER_WHAT_MAX];
    int room = BROKER_WHAT_MAX - 24;

    full_path(place, path);
    /* Of a path that is too long the end says more. */
    (void)snprintf(what, sizeof(what), "%.20s %.*s", verb, room,
                   strlen(path) > (size_t)room ? path + strlen(path) - (size_t)room : path);
    report(b, what, why);
    return -errnum;
}

/* The path of the place below this grant; NULL: it lies elsewhere. Grants may lie in each other,
 * and the outer one's survey knows of links and settings that the inner one's does not see. */
static const char *below_grant(const struct granted_dir *grant, const struct place *place,
                               const char *path)
{
    size_t len = strlen(grant->path);

    if (!grant->survey)
        return NULL;
    if (grant == place->grant)
        return place->path;
    while (len && grant->path[len - 1] == '/')
        len--;
    if (strncmp(path, grant->path, len) != 0 || path[len] != '/')
        return NULL;
    return path + len + strspn(path + len, "/");
}

/* A file or directory is the same one whichever grant it is reached through. */
static const struct protected_name *judge_inode(const struct broker *b, const struct stat *st)
{
    const struct protected_name *found = NULL;

    for (uint32_t i = 0; !found && i < b->n_grants; i++)
        if (b->grants[i].survey)
            found = survey_judge(b->grants[i].survey, st->st_dev, st->st_ino);
    return found;
}

static bool has_directories(const struct broker *b)
{
    for (uint32_t i = 0; i < b->n_grants; i++)
        if (b->grants[i].survey && survey_has_directories(b->grants[i].survey))
            return true;
    return false;
}

static bool holds_protected(const struct broker *b, const struct stat *st)
{
    for (uint32_t i = 0; i < b->n_grants; i++)
        if (b->grants[i].survey &&
            survey_holds_protected(b->grants[i].survey, st->st_dev, st->st_ino))
            return true;
    return false;
}

/* A directory that is protected without having a protected name: a link with one leads there. */
static const struct protected_name *judge_ancestors(const struct broker *b,
                                                    const struct place *place)
{
    const struct granted_dir *grant = place->grant;
    int dir = openat(place->parent, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    const struct protected_name *found = NULL;
    struct stat st;

    for (int i = 0; !found && dir >= 0 && i < ANCESTORS_MAX && fstat(dir, &st) == 0; i++) {
        int up;

        found = judge_inode(b, &st);
        if (st.st_dev == grant->dev && st.st_ino == grant->ino)
            break;
        up = openat(dir, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        (void)close(dir);
        dir = up;
    }
    close_fd(&dir);
    return found;
}

/* Asks the surveys about the path and, with `is_move`, about what gets there: `fd`, or -1 for a new
 * link. */
static const struct protected_name *judge_surveyed(const struct broker *b,
                                                   const struct place *place, bool is_move, int fd)
{
    const struct protected_name *found = NULL;
    char path[2 * PATH_MAX];

    full_path(place, path);
    for (uint32_t i = 0; !found && i < b->n_grants; i++) {
        const struct survey *survey = b->grants[i].survey;
        const char *below = below_grant(&b->grants[i], place, path);

        if (below)
            found =
                is_move ? survey_judge_move(survey, fd, below) : survey_judge_path(survey, below);
    }
    return found;
}

/* A new link may stand for what it does not contain: it is judged more strictly than a directory.
 */
static const struct protected_name *find_protected_link(const struct broker *b,
                                                        const struct place *place)
{
    const struct protected_name *found;
    char path[2 * PATH_MAX];

    full_path(place, path);
    found = protected_judge_link(place->parent, path);
    return found ? found : judge_surveyed(b, place, true, -1);
}

static const struct protected_name *find_protected(const struct broker *b,
                                                   const struct place *place)
{
    const struct protected_name *found;
    char path[2 * PATH_MAX];

    full_path(place, path);
    found = protected_judge(place->parent, path);
    if (!found)
        found = judge_surveyed(b, place, false, -1);
    if (!found && place->exists)
        found = judge_inode(b, &place->st);
    if (!found && has_directories(b))
        found = judge_ancestors(b, place);
    return found;
}

enum protected_data judge_data(const struct broker *b, const struct place *place)
{
    char path[2 * PATH_MAX];
    enum protected_data data;

    full_path(place, path);
    data = protected_judge_data(place->parent, path);
    for (uint32_t i = 0; !data && i < b->n_grants; i++) {
        const char *below = below_grant(&b->grants[i], place, path);

        if (below)
            data = survey_judge_data(b->grants[i].survey, below);
    }
    return data;
}

const char *judge_name(const struct broker *b, const char *path)
{
    const struct protected_name *found = protected_judge(-1, path);

    for (uint32_t i = 0; !found && i < b->n_grants; i++) {
        const char *grant = b->grants[i].path;
        size_t len = strlen(grant);

        if (b->grants[i].survey && strncmp(path, grant, len) == 0 && path[len] == '/')
            found = survey_judge_path(b->grants[i].survey, path + len + strspn(path + len, "/"));
    }
    if (!found && protected_is_cache(path))
        return "Python runs the compiled modules in it";
    return found ? found->reason : NULL;
}

/* NULL, or why not. */
static const char *refuse_data(enum protected_data data, enum judge_act act)
{
    switch (data) {
    case PROTECTED_DATA_NONE:
        return NULL;
    case PROTECTED_DATA_OBJECTS:
        return act == JUDGE_LEAVE || act == JUDGE_ARRIVE
                   ? "git trusts the objects in it, so it cannot be moved"
                   : NULL;
    case PROTECTED_DATA_OBJECT:
        if (act == JUDGE_REMOVE || act == JUDGE_CHANGE || act == JUDGE_LEAVE)
            return "git assumes that an object never changes";
        break;
    case PROTECTED_DATA_INDEX:
    case PROTECTED_DATA_PACKED_REFS:
    case PROTECTED_DATA_MERGE_RR:
        break;
    }
    return act == JUDGE_REMOVE || act == JUDGE_ARRIVE || act == JUDGE_TIMES
               ? NULL
               : "git trusts it: it can only be created by renaming a file, which is then checked";
}

/* The number of names of the file in the same directory. */
static nlink_t count_siblings(const struct place *place)
{
    cleanup_closedir DIR *entries = file_open_dir(place->parent, ".");
    struct dirent *entry;
    nlink_t count = 0;

    for (int i = 0; entries && i < SIBLINGS_MAX && (entry = readdir(entries)); i++)
        if (entry->d_ino == place->st.st_ino)
            count++;
    return count;
}

/* A file with further names may be one that is protected somewhere else, where we cannot look. All
 * of them must be known: made through us, or in the same directory. */
static bool has_unknown_names(const struct broker *b, const struct place *place)
{
    if (!place->exists || !S_ISREG(place->st.st_mode) || place->st.st_nlink < 2)
        return false;
    if (links_known(b, &place->st) >= place->st.st_nlink)
        return false;
    return count_siblings(place) < place->st.st_nlink;
}

/* A place where another grant is mounted in the sandbox, or the way to one: were it moved, the
 * other grant's files would be reached by a path that is not its own. */
static bool holds_grant(const struct broker *b, const struct place *place)
{
    char path[2 * PATH_MAX];
    size_t len;

    full_path(place, path);
    len = strlen(path);
    for (uint32_t i = 0; i < b->n_grants; i++)
        if (strncmp(b->grants[i].path, path, len) == 0 &&
            (b->grants[i].path[len] == '/' || b->grants[i].path[len] == '\0'))
            return true;
    return false;
}

/* Directories of compiled modules may be made, moved along and removed, but nothing gets into one.
 */
static bool refuses_cache(const struct place *place, enum judge_act act)
{
    bool is_directory = place->exists && S_ISDIR(place->st.st_mode);

    if (act == JUDGE_REMOVE || act == JUDGE_LEAVE || act == JUDGE_CREATE_DIR ||
        (is_directory && (act == JUDGE_CHANGE || act == JUDGE_TIMES)))
        return false;
    return protected_is_cache(place->path);
}

/* 0, or -errno and why. */
static long weigh(struct broker *b, const struct place *place, enum judge_act act,
                  const char **ret_why)
{
    const struct protected_name *found = find_protected(b, place);
    bool is_change = act == JUDGE_CHANGE || act == JUDGE_TIMES;

    if (!found && act == JUDGE_CREATE_LINK)
        found = find_protected_link(b, place);
    if (found) {
        *ret_why = found->reason;
        return -EPERM;
    }
    if (refuses_cache(place, act))
        return -EPERM; /* Python tries it whenever it imports: that is not worth a word */
    *ret_why = refuse_data(judge_data(b, place), act);
    if (*ret_why)
        return -EPERM;
    if (!is_change && holds_grant(b, place)) {
        *ret_why = "another granted directory is mounted there";
        return -EBUSY;
    }
    if (is_change && has_unknown_names(b, place)) {
        *ret_why = "the file has other names (hard links) outside this directory; "
                   "write a copy and rename it";
        return -EPERM;
    }
    return 0;
}

long judge(struct broker *b, const struct place *place, enum judge_act act)
{
    static const char *const verbs[] = {
        [JUDGE_CREATE] = "create",
        [JUDGE_CHANGE] = "change",
        [JUDGE_REMOVE] = "remove or rename",
        [JUDGE_CREATE_LINK] = "create",
        [JUDGE_CREATE_DIR] = "create",
        [JUDGE_LINK] = "link",
        [JUDGE_TIMES] = "change",
        [JUDGE_LEAVE] = "rename",
        [JUDGE_ARRIVE] = "replace",
    };
    const char *why = NULL;
    long r = weigh(b, place, act, &why);

    /* Git renews the times of objects that are there already, and does without. */
    if (r < 0 && act == JUDGE_TIMES && judge_data(b, place) == PROTECTED_DATA_OBJECT)
        return r;
    return r < 0 && why ? judge_refuse(b, place, verbs[act], why, (int)-r) : r;
}

long judge_quietly(struct broker *b, const struct place *place, enum judge_act act)
{
    const char *why = NULL;

    return weigh(b, place, act, &why);
}

long judge_target(struct broker *b, const struct place *place, const char *target)
{
    const struct protected_name *found;
    char path[2 * PATH_MAX];

    full_path(place, path);
    found = protected_judge_target(path, target);
    return found ? judge_refuse(b, place, "create", found->reason, EPERM) : 0;
}

long judge_move(struct broker *b, const struct place *from, const struct place *to)
{
    cleanup_close int fd = openat(from->parent, from->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    const struct protected_name *found;
    char path[2 * PATH_MAX], old[2 * PATH_MAX];

    if (fd < 0)
        return -errno;
    if (S_ISDIR(from->st.st_mode) && holds_protected(b, &from->st))
        return judge_refuse(b, from, "rename", "a protected name is below it", EPERM);
    full_path(from, old);
    full_path(to, path);
    found = protected_judge_move(fd, old, path);
    if (!found)
        found = judge_surveyed(b, to, true, fd);
    return found ? judge_refuse(b, to, "create", found->reason, EPERM) : 0;
}
