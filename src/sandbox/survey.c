/* The walk. One directory is read in whole, then those in it one after the other, with a stack of
 * our own: no depth is too deep. Beyond a number of open directories the way back up is "..", and
 * the inode says whether it is still the same. Names are all that most entries cost; only what a
 * protected name is about is looked at. */
#include "sandbox/survey.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/paths.h"
#include "sandbox/survey_internal.h"

#define ENTRIES_BYTES ((size_t)256 << 10)
#define OPEN_MAX_     64
#define PENDING_MAX   ((size_t)512 << 20)

struct frame {
    int fd; /* -1: closed for now */
    dev_t dev;
    ino_t ino;
    struct protected_state state;
    size_t path_len;
    size_t first, next; /* directories in it that wait, in walk.pending */
    bool is_marked;     /* as holding something protected, and so are those above */
};

struct walk {
    struct survey *s;
    struct frame *frames;
    size_t n_frames, size;
    struct buf path;    /* of the directory on top */
    struct buf pending; /* names, each with its NUL */
    char *entries;
    bool is_alias; /* only what a state is open for */
};

struct entry64 {
    uint64_t ino;
    int64_t off;
    uint16_t len;
    uint8_t type;
    char name[];
};

static int stop(const struct walk *w, const char *name, const char *why, struct error *err)
{
    const char *dir = buf_str(&w->path);

    error_set(err, E_DENIED, "`%s%s%.512s%s%.255s` %s", w->s->path, *dir ? "/" : "", dir,
              *name ? "/" : "", name, why);
    return error_hint(err, "Belljar cannot protect what it cannot read; grant a smaller directory, "
                           "or this one with :cow");
}

/* Whether a path can stand in a command as it is: names come from programs. */
static bool is_plain(const char *path)
{
    for (const char *at = path; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f || strchr("'`\\", *at))
            return false;
    return true;
}

/* A directory of the user's own that is closed to the user. `name`: below the one on top, or "". */
static int stop_closed(const struct walk *w, const char *name, struct error *err)
{
    cleanup_free char *path = NULL;
    const char *dir = buf_str(&w->path);

    (void)stop(w, name, "cannot be read", err);
    if (asprintf(&path, "%s%s%.512s%s%.255s", w->s->path, *dir ? "/" : "", dir, *name ? "/" : "",
                 name) < 0)
        return error_memory(err);
    if (!is_plain(path))
        return error_hint(err, "give its owner the rights to read and enter it (chmod u+rx), or "
                               "grant the directory :cow");
    return error_hint(err, "run `chmod u+rx '%s'`, or grant the directory :cow", path);
}

static struct frame *top(struct walk *w)
{
    return &w->frames[w->n_frames - 1];
}

/* --- what is found --- */

static int mark_frames(struct walk *w, struct error *err)
{
    for (size_t i = w->n_frames; i-- > 0 && !w->frames[i].is_marked;) {
        struct stat st = {.st_dev = w->frames[i].dev, .st_ino = w->frames[i].ino};

        w->frames[i].is_marked = true;
        if (survey_add_inode(w->s, &st, NULL, SURVEY_HOLDS, err) < 0)
            return -1;
    }
    return 0;
}

static int take_link(struct walk *w, const char *name, struct protected_state *state,
                     struct error *err)
{
    char target[PATH_MAX];
    ssize_t n = readlinkat(top(w)->fd, name, target, sizeof(target) - 1);

    if (mark_frames(w, err) < 0)
        return -1;
    if (n < 0)
        return errno == ENOENT ? 0 : stop(w, name, "is a link that cannot be read", err);
    target[n] = '\0';
    return survey_lead(w->s, buf_str(&w->path), target, state, err);
}

static bool is_named(const char *name, const char *wanted)
{
    return strcasecmp(name, wanted) == 0;
}

static int take_script(struct walk *w, const char *name, struct error *err)
{
    cleanup_free char *path = survey_join(buf_str(&w->path), name);

    return path ? survey_script(w->s, path, err) : error_memory(err);
}

static int take_file(struct walk *w, const char *name, const struct protected_state *state,
                     struct error *err)
{
    struct stat st;

    if (!state->row)
        return 0;
    if (mark_frames(w, err) < 0)
        return -1;
    if (fstatat(top(w)->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : stop(w, name, "cannot be examined", err);
    if (st.st_nlink > 1 && survey_add_inode(w->s, &st, state->row, 0, err) < 0)
        return -1;
    if (state->git == GIT_TOP)
        return survey_git_file(w->s, buf_str(&w->path), name, err);
    return protected_is_script(state->row) ? take_script(w, name, err) : 0;
}

/* The directory of a Python environment, whatever its name. */
static int take_environment(struct walk *w, const char *name, struct error *err)
{
    const struct protected_state sealed = {.row = protected_row("pyvenv.cfg")};

    if (!is_named(name, "pyvenv.cfg") && !is_named(name, "conda-meta"))
        return 0;
    return survey_add_place(w->s, buf_str(&w->path), &sealed, err);
}

static int take_entry(struct walk *w, const char *name, unsigned type, bool *may_be_git,
                      struct error *err)
{
    struct protected_state state = top(w)->state;
    struct stat st;

    protected_step(&state, name, strlen(name));
    if (type == DT_UNKNOWN) {
        if (fstatat(top(w)->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            return errno == ENOENT ? 0 : stop(w, name, "cannot be examined", err);
        type = IFTODT(st.st_mode);
    }
    *may_be_git |= is_named(name, "HEAD");
    if (state.row && take_environment(w, name, err) < 0)
        return -1;
    if (type == DT_LNK)
        return state.row || protected_is_open(&state) ? take_link(w, name, &state, err) : 0;
    if (type != DT_DIR) {
        return take_file(w, name, &state, err);
    }
    if (state.row && mark_frames(w, err) < 0)
        return -1;
    if (w->is_alias && !state.row && !protected_is_open(&state))
        return 0;
    if (buf_add(&w->pending, name, strlen(name) + 1, NULL) < 0)
        return stop(w, "", "has too many directories", err);
    return 0;
}

/* --- down and up --- */

static int open_beneath(int dir, const char *name)
{
    struct open_how how = {
        .flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
    };

    return (int)syscall(SYS_openat2, dir, name, &how, sizeof(how));
}

static int read_entries(struct walk *w, bool *may_be_git, struct error *err)
{
    for (;;) {
        long n = syscall(SYS_getdents64, top(w)->fd, w->entries, ENTRIES_BYTES);

        if (n < 0)
            return stop(w, "", "cannot be read", err);
        if (n == 0)
            return 0;
        for (long at = 0; at < n;) {
            const struct entry64 *e = (const struct entry64 *)(const void *)(w->entries + at);

            at += e->len;
            if (e->name[0] == '.' && (!e->name[1] || (e->name[1] == '.' && !e->name[2])))
                continue;
            if (take_entry(w, e->name, e->type, may_be_git, err) < 0)
                return -1;
        }
    }
}

/* Takes `fd`. Reads the directory in whole. */
static int enter(struct walk *w, int fd, const struct protected_state *state, struct error *err)
{
    struct frame *grown = array_grow(w->frames, w->n_frames, &w->size, sizeof(*grown));
    bool may_be_git = false;
    struct stat st;

    if (!grown || fstat(fd, &st) < 0) {
        (void)close(fd);
        return grown ? error_errno(err, "look at a directory") : error_memory(err);
    }
    w->frames = grown;
    w->frames[w->n_frames++] = (struct frame){
        .fd = fd,
        .dev = st.st_dev,
        .ino = st.st_ino,
        .state = *state,
        .path_len = w->path.len,
        .first = w->pending.len,
        .next = w->pending.len,
    };
    if (read_entries(w, &may_be_git, err) < 0)
        return -1;
    if (state->git == GIT_TOP || state->git == GIT_MODULE)
        return state->git == GIT_TOP || protected_git_is_directory(fd, "")
                   ? survey_git_directory(w->s, buf_str(&w->path), err)
                   : 0;
    if (may_be_git && protected_git_is_directory(fd, "")) {
        struct protected_state git = protected_git_start();

        git.row = protected_row(".git");
        return survey_add_place(w->s, buf_str(&w->path), &git, err);
    }
    return 0;
}

static bool is_ours(const struct stat *st)
{
    return st->st_uid == geteuid() || st->st_uid == (uid_t)setfsuid((uid_t)-1);
}

/* A directory that cannot be opened: it belongs to others, or to us, and then we could make it
 * readable.
 */
static int pass_closed(const struct walk *w, const char *name, struct error *err)
{
    int dir = w->frames[w->n_frames - 1].fd;
    struct stat st;

    if (w->s->is_for_review)
        return 0;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return is_ours(&st) ? stop_closed(w, name, err) : 0;
    if (errno == ENOENT)
        return 0;
    /* The directory that it is in can be read and not entered. */
    return fstat(dir, &st) == 0 && !is_ours(&st) ? 0 : stop_closed(w, "", err);
}

static int go_down(struct walk *w, const char *name, struct error *err)
{
    struct protected_state state = top(w)->state;
    int fd = open_beneath(top(w)->fd, name);

    if (fd < 0) {
        if (errno == ENOENT || (w->s->is_for_review && errno == EXDEV))
            return 0;
        if (errno == EACCES)
            return pass_closed(w, name, err);
        return stop(w, name,
                    errno == EXDEV                       ? "has something else mounted on it"
                    : errno == ELOOP || errno == ENOTDIR ? "was replaced while Belljar read it"
                                                         : "cannot be opened",
                    err);
    }
    protected_step(&state, name, strlen(name));
    if (w->n_frames >= OPEN_MAX_)
        close_fd(&top(w)->fd);
    if ((w->path.len && buf_add(&w->path, "/", 1, err) < 0) ||
        buf_add(&w->path, name, strlen(name), err) < 0) {
        (void)close(fd);
        return -1;
    }
    return enter(w, fd, &state, err);
}

static int go_up(struct walk *w, struct error *err)
{
    struct frame *gone = top(w), *above = gone - 1;
    struct stat st;

    w->pending.len = gone->first;
    w->n_frames--;
    if (w->n_frames == 0) {
        close_fd(&gone->fd);
        return 0;
    }
    if (above->fd < 0)
        above->fd = openat(gone->fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    close_fd(&gone->fd);
    w->path.len = above->path_len;
    w->path.data[w->path.len] = '\0';
    if (above->fd < 0 || fstat(above->fd, &st) < 0 || st.st_dev != above->dev ||
        st.st_ino != above->ino)
        return stop(w, "", "was moved while Belljar read it", err);
    return 0;
}

static int walk_from(struct survey *s, const char *path, const struct protected_state *state,
                     bool is_alias, struct error *err)
{
    struct walk w = {.s = s, .is_alias = is_alias, .entries = malloc(ENTRIES_BYTES)};
    int fd, r = w.entries ? 0 : error_memory(err);

    buf_init(&w.path, PENDING_MAX);
    buf_init(&w.pending, PENDING_MAX);
    if (r == 0)
        r = buf_add_str(&w.path, path, err);
    fd = r == 0 ? survey_open(s, path, O_RDONLY | O_DIRECTORY) : -1;
    if (r == 0 && fd < 0)
        r = is_alias && (errno != EACCES || s->is_for_review)
                ? 0
                : stop(&w, "", "cannot be opened", err);
    if (fd >= 0)
        r = enter(&w, fd, state, err);
    while (r == 0 && w.n_frames) {
        struct frame *f = top(&w);
        char name[NAME_MAX + 1];

        if (f->next == w.pending.len) {
            r = go_up(&w, err);
            continue;
        }
        (void)snprintf(name, sizeof(name), "%s", w.pending.data + f->next);
        f->next += strlen(name) + 1;
        r = go_down(&w, name, err);
    }
    while (w.n_frames)
        close_fd(&w.frames[--w.n_frames].fd);
    free(w.frames);
    free(w.entries);
    buf_done(&w.path);
    buf_done(&w.pending);
    return r;
}

/* --- the whole --- */

/* Places that a link or a file of git led to are walked under their other names. */
static int walk_places(struct survey *s, struct error *err)
{
    for (; s->next_place < s->n_places; s->next_place++) {
        const struct protected_state state = s->places[s->next_place].state;
        cleanup_free char *path = strdup(s->places[s->next_place].path);
        cleanup_close int fd = -1;
        struct stat st;

        if (!path)
            return error_memory(err);
        fd = survey_open(s, path, O_PATH);
        if (fd >= 0 && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) &&
            walk_from(s, path, &state, true, err) < 0)
            return -1;
    }
    return 0;
}

/* Belljar's own places are known by their whole path. Where one lies below the grant, the
 * directories above it stay where they are. */
static int add_own(struct survey *s, struct error *err)
{
    const char *path;

    for (size_t i = 0; (path = protected_own(i)); i++) {
        const struct protected_state sealed = {.row = protected_judge(-1, path)};
        const char *rest = paths_below(path, s->path);

        if (rest && *rest && sealed.row && survey_add_place(s, rest, &sealed, err) < 0)
            return -1;
    }
    return 0;
}

static int compare_places(const void *a, const void *b)
{
    return strcmp(((const struct survey_place *)a)->path, ((const struct survey_place *)b)->path);
}

static int look(int dir, struct survey *s, struct error *err)
{
    struct protected_state state = protected_start();

    s->root = openat(dir, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (s->root < 0)
        return error_errno(err, "open `%s`", s->path);
    protected_walk(&state, s->path);
    if (walk_from(s, "", &state, false, err) < 0 || add_own(s, err) < 0 ||
        survey_outside_leads(s, err) < 0 || survey_git_global(s, "", err) < 0 ||
        walk_places(s, err) < 0)
        return -1;
    if (s->n_places)
        qsort(s->places, s->n_places, sizeof(*s->places), compare_places);
    return 0;
}

static int make(int dir, const char *path, const struct survey_outside *outside, bool is_for_review,
                struct survey **ret_survey, struct error *err)
{
    struct survey *s = calloc(1, sizeof(*s));
    int r;

    if (!s)
        return error_memory(err);
    s->root = -1;
    s->is_for_review = is_for_review;
    s->outside = outside;
    s->path = strdup(path);
    r = s->path ? look(dir, s, err) : error_memory(err);
    if (r < 0) {
        survey_free(s);
        return -1;
    }
    s->outside = NULL;
    *ret_survey = s;
    return 0;
}

static int make_whole(int dir, const char *path, bool is_for_review, struct survey **ret_survey,
                      struct error *err)
{
    struct survey_outside *outside = NULL;
    int r = survey_outside_new(path, &outside, err);

    if (r == 0)
        r = make(dir, path, outside, is_for_review, ret_survey, err);
    survey_outside_free(outside);
    return r;
}

int survey_new(int dir, const char *path, struct survey **ret_survey, struct error *err)
{
    return make_whole(dir, path, false, ret_survey, err);
}

int survey_new_with(int dir, const char *path, const struct survey_outside *outside,
                    struct survey **ret_survey, struct error *err)
{
    return make(dir, path, outside, false, ret_survey, err);
}

int survey_new_for_review(int dir, const char *path, struct survey **ret_survey, struct error *err)
{
    return make_whole(dir, path, true, ret_survey, err);
}

void survey_free(struct survey *s)
{
    if (!s)
        return;
    close_fd(&s->root);
    for (size_t i = 0; i < s->n_places; i++)
        free(s->places[i].path);
    free(s->places);
    free(s->place_slots);
    free(s->inodes);
    free(s->path);
    free(s);
}

/* --- answers --- */

const struct protected_name *survey_judge(const struct survey *s, dev_t dev, ino_t ino)
{
    const struct survey_inode *inode = survey_find_inode(s, dev, ino);

    return inode ? inode->row : NULL;
}

bool survey_has_directories(const struct survey *s)
{
    return s->has_directories;
}

bool survey_holds_protected(const struct survey *s, dev_t dev, ino_t ino)
{
    const struct survey_inode *inode = survey_find_inode(s, dev, ino);

    return inode && (inode->flags & SURVEY_HOLDS);
}

/* The first place whose path is not before the first `len` bytes of `path`. */
static size_t lower_bound(const struct survey *s, const char *path, size_t len)
{
    size_t low = 0, high = s->n_places;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (strncmp(s->places[middle].path, path, len) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The rule that the places at or above `path` make for it: the first row, or with `dir` the rule
 * for what is in there. */
static const struct protected_name *judge_by_places(const struct survey *s, const char *path,
                                                    bool is_link, int dir)
{
    size_t len = 0;

    for (;;) {
        for (size_t i = lower_bound(s, path, len);
             i < s->n_places && strncmp(s->places[i].path, path, len) == 0 &&
             !s->places[i].path[len]; /* longer ones stand behind */
             i++) {
            struct protected_state state = s->places[i].state;

            protected_walk(&state, path + len);
            if (state.row || (is_link && protected_link_row(&state)))
                return protected_link_row(&state);
            if (dir >= 0) {
                const struct protected_name *row = protected_judge_content(dir, &state);

                if (row)
                    return row;
            }
        }
        if (!path[len])
            return NULL;
        len += path[len] == '/';
        len += strcspn(path + len, "/");
    }
}

const struct protected_name *survey_judge_path(const struct survey *s, const char *path)
{
    return s->n_places ? judge_by_places(s, path, false, -1) : NULL;
}

enum protected_data survey_judge_data(const struct survey *s, const char *path)
{
    enum protected_data data = PROTECTED_DATA_NONE;
    size_t len = 0;

    while (s->n_places && !data) {
        for (size_t i = lower_bound(s, path, len);
             !data && i < s->n_places && strncmp(s->places[i].path, path, len) == 0 &&
             !s->places[i].path[len];
             i++) {
            struct protected_state state = s->places[i].state;

            protected_walk(&state, path + len);
            data = protected_git_data(state.git);
        }
        if (!path[len])
            break;
        len += path[len] == '/';
        len += strcspn(path + len, "/");
    }
    return data;
}

const struct protected_name *survey_judge_move(const struct survey *s, int dir, const char *path)
{
    size_t len = strlen(path), at;
    const struct protected_name *row;
    struct stat st;
    bool is_link = dir < 0 || fstat(dir, &st) < 0 || S_ISLNK(st.st_mode);

    if (!s->n_places)
        return NULL;
    row = judge_by_places(s, path, is_link, is_link ? -1 : dir);
    if (row)
        return row;
    /* A place below it: what is moved there would stand on the way to it. */
    for (at = lower_bound(s, path, len);
         at < s->n_places && strncmp(s->places[at].path, path, len) == 0; at++)
        if (s->places[at].path[len] == '/' || len == 0)
            return protected_link_row(&s->places[at].state);
    return NULL;
}
