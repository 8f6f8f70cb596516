/* The table as a tree of names. Each directory on a path has a state: the nodes of the tree that
 * the last names have led to. A name is folded once, and found among the children of those nodes
 * and of the root by one hash each. */
#include "sandbox/protected.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "sandbox/fold.h"
#include "sandbox/protected_internal.h"
#include "sandbox/protected_python.h"

#define NODES    4096
#define SLOTS    16384 /* a power of two */
#define GIT_ROWS 32

#define INSTALLED "node_modules"

/* The starts of patterns: anywhere; at "/". The third has the names that git obeys in its
 * directory.
 */
enum { ROOT, TOP, GIT_SETTINGS, N_FIXED };

struct node {
    const char *name; /* folded, in tree.text */
    uint8_t len;
    uint8_t star;  /* 1 + where the asterisk is; 0: none */
    bool has_more; /* there are nodes below */
    bool is_git;
    bool is_linter;
    uint16_t parent;
    uint16_t next;  /* among the children of the parent with an asterisk, or among all */
    uint16_t child; /* the first of all */
    uint16_t wild;  /* the first with an asterisk */
    uint16_t next_wild;
    const struct protected_name *row; /* a pattern ends here */
};

static struct {
    bool is_built;
    unsigned n_nodes;
    struct node nodes[NODES];
    uint16_t slots[SLOTS]; /* node + 1 by parent and name */
    char text[NODES * 24]; /* their names, folded */
    size_t text_len;
    const struct protected_name *git[GIT_ROWS]; /* those that begin with `.git/` */
    size_t n_git;
    /* Those at the root with an asterisk, by their first byte, or by the last where the asterisk is
     * first: they are looked at for every name. */
    uint16_t wild_by_first[256], wild_by_last[256];
} tree;

static const struct protected_name unknown_row = {"(unknown)",
                                                  "Belljar cannot tell whether it is protected"};

/* --- the tree --- */

static uint32_t hash_of(const char *name, size_t len)
{
    uint32_t h = 2166136261u;

    for (size_t i = 0; i < len; i++)
        h = (h ^ (uint8_t)name[i]) * 16777619u;
    return h;
}

static uint32_t slot_of(unsigned parent, uint32_t hash)
{
    hash = (hash ^ (parent * 2654435761u)) * 2246822519u;
    return hash >> 16;
}

static bool is_name(const struct node *node, const char *name, size_t len)
{
    return node->len == len && memcmp(node->name, name, len) == 0;
}

static struct node *find_child(unsigned parent, uint32_t hash, const char *name, size_t len)
{
    for (uint32_t h = slot_of(parent, hash);; h++) {
        uint16_t slot = tree.slots[h & (SLOTS - 1)];
        struct node *node;

        if (!slot)
            return NULL;
        node = &tree.nodes[slot - 1];
        if (node->parent == parent && is_name(node, name, len))
            return node;
    }
}

static struct node *add_child(unsigned parent, const char *name, size_t len)
{
    struct node *node = &tree.nodes[tree.n_nodes], *above = &tree.nodes[parent];
    uint32_t h = slot_of(parent, hash_of(name, len));
    const char *star;

    if (tree.n_nodes >= NODES || tree.text_len + len > sizeof(tree.text))
        abort(); /* the table has outgrown this file; every test would end here */
    name = memcpy(tree.text + tree.text_len, name, len);
    tree.text_len += len;
    star = memchr(name, '*', len);
    *node = (struct node){.name = name,
                          .len = (uint8_t)len,
                          .star = (uint8_t)(star ? star - name + 1 : 0),
                          .parent = (uint16_t)parent,
                          .next = above->child,
                          .next_wild = above->wild};
    above->child = (uint16_t)tree.n_nodes;
    above->has_more = true;
    if (star)
        above->wild = (uint16_t)tree.n_nodes;
    while (tree.slots[h & (SLOTS - 1)])
        h++;
    tree.slots[h & (SLOTS - 1)] = (uint16_t)(tree.n_nodes + 1);
    tree.n_nodes++;
    return node;
}

static void add_row(const struct protected_name *row)
{
    bool is_top = row->pattern[0] == '/';
    unsigned at = is_top ? TOP : ROOT;

    /* protected_git.c has the inside of git directories. */
    if (strncmp(row->pattern, ".git/", 5) == 0 && tree.n_git < GIT_ROWS) {
        tree.git[tree.n_git++] = row;
        return;
    }
    for (const char *name = row->pattern + is_top; name;) {
        const char *slash = strchr(name, '/');
        char folded[FOLD_MAX];
        size_t len = fold_name(name, slash ? (size_t)(slash - name) : strlen(name), folded);
        struct node *node = find_child(at, hash_of(folded, len), folded, len);

        if (!node)
            node = add_child(at, folded, len);
        at = (unsigned)(node - tree.nodes);
        if (!slash) {
            node->row = row;
            node->is_git = strcmp(row->pattern, ".git") == 0;
            node->is_linter = strcmp(row->reason, PROTECTED_LINTER) == 0;
        }
        name = slash ? slash + 1 : NULL;
    }
}

static void build(void)
{
    size_t count;
    const struct protected_name *rows = protected_names(&count);
    const char *name;

    tree.n_nodes = N_FIXED;
    for (size_t i = 0; i < count; i++)
        add_row(&rows[i]);
    for (unsigned i = tree.nodes[ROOT].wild, next; i; i = next) {
        struct node *node = &tree.nodes[i];
        uint16_t *list = node->star > 1 ? &tree.wild_by_first[(uint8_t)node->name[0]]
                                        : &tree.wild_by_last[(uint8_t)node->name[node->len - 1]];

        next = node->next_wild;
        node->next_wild = *list;
        *list = (uint16_t)i;
    }
    for (size_t i = 0; (name = protected_git_setting(i)); i++)
        (void)add_child(GIT_SETTINGS, name, strlen(name));
    tree.is_built = true;
}

const struct protected_name *protected_row(const char *pattern)
{
    const struct protected_name *rows;
    size_t count;

    if (!tree.is_built)
        build();
    for (size_t i = 0; i < tree.n_git; i++)
        if (strcasecmp(tree.git[i]->pattern, pattern) == 0)
            return tree.git[i];
    if (strncmp(pattern, ".git/", 5) == 0)
        return NULL;
    rows = protected_names(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].pattern, pattern) == 0)
            return &rows[i];
    return NULL;
}

bool protected_is_script(const struct protected_name *row)
{
    return strcmp(row->pattern, ".git/hooks") == 0 || strncmp(row->pattern, ".envrc", 6) == 0 ||
           strcmp(row->reason, PROTECTED_HOOKS) == 0;
}

/* --- one name --- */

static bool is_wild(const struct node *node, const char *name, size_t len)
{
    size_t before = node->star - 1u, behind = node->len - node->star;

    return len >= before + behind && memcmp(name, node->name, before) == 0 &&
           memcmp(name + len - behind, node->name + node->star, behind) == 0;
}

/* The 8.3 name that file systems of Windows give to `node` beside its own: the first six letters
 * (or two, and four of a checksum), a tilde and a number, and three letters of the ending. */
static bool is_short(const struct node *node, const char *name, size_t len)
{
    const char *tilde = memchr(name, '~', len), *of = node->name, *end = of + node->len;
    char letters[6];
    size_t n = 0, at;

    if (!tilde || tilde == name || tilde - name > 6)
        return false;
    for (at = (size_t)(tilde - name) + 1; at < len && name[at] >= '0' && name[at] <= '9'; at++)
        ;
    if (at == (size_t)(tilde - name) + 1 || (at < len && name[at] != '.'))
        return false;
    while (of < end && *of == '.')
        of++;
    for (; of < end && *of != '.' && n < sizeof(letters); of++)
        if (*of != ' ')
            letters[n++] = *of;
    if ((size_t)(tilde - name) == n && memcmp(letters, name, n) == 0)
        return true;
    return tilde - name == 6 && n >= 2 && memcmp(letters, name, 2) == 0 &&
           strspn(name + 2, "0123456789abcdef") >= 4;
}

static void enter(struct protected_state *next, const struct node *node)
{
    if (node->row && !next->row && !(node->is_linter && next->is_installed))
        next->row = node->row;
    if (node->is_git)
        next->git = GIT_TOP;
    if (!node->has_more)
        return;
    if (next->n_active == PROTECTED_ACTIVE)
        next->row = &unknown_row;
    else
        next->active[next->n_active++] = (uint16_t)(node - tree.nodes);
}

/* A name, folded, with what is needed of it more than once. */
struct name {
    const char *text;
    size_t len;
    uint32_t hash;
    bool has_tilde;
    bool is_installed; /* it is node_modules, as node spells it: no other spelling gets its rules */
};

static void enter_wild(struct protected_state *next, unsigned first, const struct name *name)
{
    for (unsigned i = first; i; i = tree.nodes[i].next_wild)
        if (is_wild(&tree.nodes[i], name->text, name->len))
            enter(next, &tree.nodes[i]);
}

static void enter_children(struct protected_state *next, unsigned parent, const struct name *name)
{
    const struct node *node = find_child(parent, name->hash, name->text, name->len);

    if (node)
        enter(next, node);
    if (parent != ROOT) {
        enter_wild(next, tree.nodes[parent].wild, name);
    } else {
        enter_wild(next, tree.wild_by_first[(uint8_t)name->text[0]], name);
        enter_wild(next, tree.wild_by_last[(uint8_t)name->text[name->len - 1]], name);
    }
    for (unsigned i = name->has_tilde ? tree.nodes[parent].child : 0; i; i = tree.nodes[i].next)
        if (is_short(&tree.nodes[i], name->text, name->len))
            enter(next, &tree.nodes[i]);
}

/* The name at `text`, folded into `room` (FOLD_MAX bytes). */
static struct name fold(const char *text, size_t len, char *room)
{
    struct name name = {.text = room, .len = fold_name(text, len, room)};

    name.hash = hash_of(room, name.len);
    name.has_tilde = memchr(room, '~', name.len) != NULL;
    name.is_installed = len == strlen(INSTALLED) && memcmp(text, INSTALLED, len) == 0;
    return name;
}

static int compare_module(const void *key, const void *item)
{
    const struct name *name = key;
    const char *module = *(const char *const *)item;
    int r = strncmp(name->text, module, name->len);

    return r == 0 && module[name->len] ? -1 : r;
}

static bool ends_with(const struct name *name, const char *text)
{
    size_t n = strlen(text);

    return name->len >= n && memcmp(name->text + name->len - n, text, n) == 0;
}

static const struct protected_name python_row = {
    "(a module of Python's)", "a script that a hook runs would import it instead of Python's own"};

/* Modules are files with certain endings, or directories with one of a certain name in it. */
static void step_python(struct protected_state *next, enum protected_python was,
                        const struct name *name)
{
    const char *dot = memchr(name->text, '.', name->len);
    struct name module = {.text = name->text, .len = dot ? (size_t)(dot - name->text) : name->len};

    if (was == PYTHON_PACKAGE && module.len == 8 && memcmp(module.text, "__init__", 8) == 0)
        next->row = &python_row;
    if (was != PYTHON_TOP || !bsearch(&module, protected_python_names, protected_python_n_names,
                                      sizeof(char *), compare_module))
        return;
    if (!dot)
        next->python = PYTHON_PACKAGE;
    else if (ends_with(name, ".py") || ends_with(name, ".pyc") || ends_with(name, ".so"))
        next->row = &python_row;
}

static bool is_same(const struct name *name, const char *text)
{
    return name->len == strlen(text) && memcmp(name->text, text, name->len) == 0;
}

static void step_folded(struct protected_state *state, const struct name *name)
{
    struct protected_state next;

    if (name->len == 0)
        return;
    if (state->row && state->git == GIT_OUTSIDE) { /* everything below is protected, too */
        state->n_active = 0;
        return;
    }
    next.row = NULL;
    next.git = GIT_OUTSIDE;
    next.n_active = 0;
    next.python = PYTHON_ELSEWHERE;
    next.is_installed = state->is_installed || name->is_installed;
    if (state->git) {
        next.git = state->git;
        next.row = state->row;
        protected_git_step(&next, name->text, name->len);
    }
    if (state->python)
        step_python(&next, state->python, name);
    for (unsigned i = 0; i < state->n_active; i++)
        enter_children(&next, state->active[i], name);
    enter_children(&next, ROOT, name);
    *state = next;
}

void protected_step(struct protected_state *state, const char *text, size_t len)
{
    char room[FOLD_MAX];
    struct name name;

    if (!tree.is_built)
        build();
    name = fold(text, len, room);
    step_folded(state, &name);
}

struct protected_state protected_start(void)
{
    return (struct protected_state){.n_active = 1, .active = {TOP}};
}

struct protected_state protected_git_start(void)
{
    return (struct protected_state){.git = GIT_TOP};
}

/* strspn() and its like build a table first, which takes longer than the whole name. */
static const char *skip_slashes(const char *path)
{
    while (*path == '/')
        path++;
    return path;
}

static size_t name_len(const char *path)
{
    return (size_t)(strchrnul(path, '/') - path);
}

void protected_walk(struct protected_state *state, const char *path)
{
    for (path = skip_slashes(path); *path; path = skip_slashes(path)) {
        size_t len = name_len(path);

        protected_step(state, path, len);
        path += len;
    }
}

bool protected_is_open(const struct protected_state *state)
{
    if (state->row && state->git == GIT_OUTSIDE)
        return false;
    return state->n_active > 0 || state->python ||
           (state->git != GIT_OUTSIDE && state->git != GIT_FREE && state->git != GIT_FANOUT);
}

/* In a git directory no link is git's own work. */
const struct protected_name *protected_link_row(const struct protected_state *state)
{
    if (state->row)
        return state->row;
    if (state->git != GIT_OUTSIDE)
        return protected_row(".git/*");
    if (state->python == PYTHON_PACKAGE)
        return &python_row;
    for (unsigned i = 0; i < state->n_active; i++)
        for (unsigned at = state->active[i]; at; at = tree.nodes[at].child)
            if (tree.nodes[at].row)
                return tree.nodes[at].row;
    return NULL;
}

/* --- git directories that have another name --- */

/* Whether the directory `levels` above `parent` is a git directory. A detached mount has nothing
 * above its root, and Linux stays there: that it did is seen by the inode. */
static bool is_git_above(int parent, size_t levels)
{
    char prefix[3 * 128 + 1];
    struct stat here, below;

    if (levels > 128)
        return false; /* the parts below are looked at from their own parents as they are made */
    for (size_t i = 0; i < levels; i++)
        memcpy(prefix + 3 * i, "../", 4);
    prefix[3 * levels] = '\0';
    if (!protected_git_is_directory(parent, prefix))
        return false;
    if (levels == 0)
        return true;
    if (fstatat(parent, prefix, &here, 0) < 0 ||
        fstatat(parent, levels > 1 ? prefix + 3 : ".", &below, 0) < 0)
        return true;
    return here.st_dev != below.st_dev || here.st_ino != below.st_ino;
}

static const struct protected_name *judge_as_git(const char *rest)
{
    struct protected_state state = protected_git_start();

    protected_walk(&state, rest);
    return state.row;
}

static size_t count_names(const char *path)
{
    size_t n = 0;

    for (path = skip_slashes(path); *path; path = skip_slashes(path + name_len(path)))
        n++;
    return n;
}

/* Looks at one name of the path, with `rest` from this name on. */
static const struct protected_name *judge_in_git(int parent, const char *rest,
                                                 const struct name *name)
{
    if (!find_child(GIT_SETTINGS, name->hash, name->text, name->len))
        return NULL;
    return is_git_above(parent, count_names(rest) - 1) ? judge_as_git(rest) : NULL;
}

/* --- whole paths --- */

/* Whether a directory inside a git directory has only data, and so is none itself. */
static bool is_git_data(enum protected_git git)
{
    return git != GIT_OUTSIDE && git != GIT_TOP && git != GIT_MODULE && git != GIT_WORKTREES &&
           git != GIT_MODULES;
}

/* Walks the whole path. NULL: not protected, and *ret_state is the state of the place. */
static const struct protected_name *judge(int parent, const char *path,
                                          struct protected_state *ret_state)
{
    struct protected_state state = protected_start();
    const struct protected_name *row;
    char whole[PATH_MAX + FOLD_MAX], room[FOLD_MAX];
    const bool has_own = protected_own(0) != NULL;
    size_t n_whole = 0;

    if (!tree.is_built)
        build();
    for (const char *at = skip_slashes(path); *at; at = skip_slashes(at)) {
        size_t raw = name_len(at);
        struct name name = fold(at, raw, room);
        enum protected_git was = state.git;

        if (has_own && n_whole + name.len + 1 < sizeof(whole)) {
            whole[n_whole++] = '/';
            memcpy(whole + n_whole, name.text, name.len);
            n_whole += name.len;
        }
        step_folded(&state, &name);
        if (parent >= 0 && !at[raw] && is_git_data(was) &&
            protected_git_would_complete(parent, at, name.text, name.len))
            return protected_row(".git");
        if (was == GIT_OUTSIDE && parent >= 0 && !state.row && state.git == GIT_OUTSIDE) {
            row = judge_in_git(parent, at, &name);
            if (!row && !at[raw] && protected_git_would_become(parent, at, name.text, name.len))
                row = protected_row(".git");
            if (row)
                return row;
        }
        at += raw;
    }
    *ret_state = state;
    row = has_own ? protected_own_judge(whole, n_whole) : NULL;
    return row ? row : state.row;
}

const struct protected_name *protected_judge(int parent, const char *path)
{
    struct protected_state state;

    return judge(parent, path, &state);
}

bool protected_is_cache(const char *path)
{
    char room[FOLD_MAX];

    for (path = skip_slashes(path); *path; path = skip_slashes(path)) {
        size_t len = name_len(path);

        /* Folding makes no name shorter than this from one that is. */
        if (len >= 11) {
            struct name name = fold(path, len, room);

            if (is_same(&name, "__pycache__"))
                return true;
        }
        path += len;
    }
    return false;
}

/* In a directory that is a git directory by what is in it, as with protected names. */
static enum protected_data judge_data_in_git(int parent, const char *rest, const struct name *name)
{
    struct protected_state state = protected_git_start();

    if (!find_child(GIT_SETTINGS, name->hash, name->text, name->len) ||
        !is_git_above(parent, count_names(rest) - 1))
        return PROTECTED_DATA_NONE;
    protected_walk(&state, rest);
    return protected_git_data(state.git);
}

enum protected_data protected_judge_data(int parent, const char *path)
{
    struct protected_state state = protected_start();
    char room[FOLD_MAX];

    if (!tree.is_built)
        build();
    for (const char *at = skip_slashes(path); *at; at = skip_slashes(at)) {
        size_t raw = name_len(at);
        struct name name = fold(at, raw, room);
        enum protected_git was = state.git;

        step_folded(&state, &name);
        if (was == GIT_OUTSIDE && state.git == GIT_OUTSIDE && parent >= 0) {
            enum protected_data data = judge_data_in_git(parent, at, &name);

            if (data)
                return data;
        }
        at += raw;
    }
    return protected_git_data(state.git);
}

const struct protected_name *protected_judge_link(int parent, const char *path)
{
    struct protected_state state;
    const struct protected_name *row = judge(parent, path, &state);

    return row ? row : protected_link_row(&state);
}

/* Whether a link with this text may lead below node_modules. A path gets there from outside only
 * through a name in some link's text, so links need not be followed. */
static bool leads_to_installed(const char *target)
{
    char room[FOLD_MAX];

    for (target = skip_slashes(target); *target; target = skip_slashes(target)) {
        struct name name = fold(target, name_len(target), room);

        if (is_same(&name, INSTALLED))
            return true;
        target += name_len(target);
    }
    return false;
}

const struct protected_name *protected_judge_target(const char *path, const char *target)
{
    static const struct protected_name row = {
        "node_modules", "settings of linters below node_modules would take effect there"};
    struct protected_state state;
    const struct protected_name *found = judge(-1, path, &state);

    if (found)
        return found;
    return !state.is_installed && leads_to_installed(target) ? &row : NULL;
}

/* --- what is moved --- */

/* The most that one move may cost. More than this counts as protected. */
#define CONTENT_ENTRIES 100000
#define CONTENT_DEPTH   64

struct content {
    bool is_whole;    /* every entry is looked at, not only those that continue a pattern */
    bool is_leaving;  /* node_modules, where links may lead anywhere below it */
    unsigned entries; /* seen so far */
};

static const struct protected_name *judge_content(int dir, const struct protected_state *above,
                                                  struct content *content, unsigned depth);

/* A link that is moved: `name` in `dir`, or `dir` itself with an empty name. */
static const struct protected_name *judge_moved_link(int dir, const char *name,
                                                     const struct protected_state *state,
                                                     const struct content *content)
{
    const struct protected_name *row = protected_link_row(state);
    char target[PATH_MAX];
    ssize_t n;

    if (row || !content->is_leaving || state->is_installed)
        return row;
    n = readlinkat(dir, name, target, sizeof(target) - 1);
    if (n < 0)
        return &unknown_row;
    target[n] = '\0';
    return leads_to_installed(target) ? &unknown_row : NULL;
}

static const struct protected_name *judge_entry(int dir, const struct dirent *entry,
                                                const struct protected_state *above,
                                                struct content *content, unsigned depth)
{
    struct protected_state state = *above;
    unsigned type = entry->d_type;
    cleanup_close int fd = -1;
    struct stat st;

    protected_step(&state, entry->d_name, strlen(entry->d_name));
    if (state.row)
        return state.row;
    if (protected_git_data(state.git)) /* it has to be checked when it gets there, one by one */
        return protected_row(".git/*");
    if (!content->is_whole && !protected_is_open(&state))
        return NULL;
    /* A HEAD is made nowhere outside of a git directory, so none is moved there either. */
    if (content->is_whole && state.git == GIT_OUTSIDE && strcmp(entry->d_name, "HEAD") == 0)
        return protected_row(".git");
    if (type == DT_UNKNOWN) {
        if (fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            return &unknown_row;
        type = IFTODT(st.st_mode);
    }
    if (type == DT_LNK)
        return judge_moved_link(dir, entry->d_name, &state, content);
    if (type != DT_DIR)
        return NULL;
    fd = openat(dir, entry->d_name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? &unknown_row : judge_content(fd, &state, content, depth + 1);
}

static const struct protected_name *judge_content(int dir, const struct protected_state *above,
                                                  struct content *content, unsigned depth)
{
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cleanup_closedir DIR *entries = fd < 0 ? NULL : fdopendir(fd);
    const struct protected_name *row;
    struct dirent *entry;

    if (!entries || depth > CONTENT_DEPTH) {
        if (fd >= 0 && !entries)
            (void)close(fd);
        return &unknown_row;
    }
    if (content->is_whole && protected_git_is_directory(dir, ""))
        return protected_row(".git");
    errno = 0;
    while ((entry = readdir(entries))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (++content->entries > CONTENT_ENTRIES)
            return &unknown_row;
        row = judge_entry(dir, entry, above, content, depth);
        if (row)
            return row;
        errno = 0;
    }
    return errno ? &unknown_row : NULL;
}

static const struct protected_name *judge_moved(int dir, const struct protected_state *state,
                                                struct content content)
{
    struct stat st;

    if (fstat(dir, &st) < 0)
        return &unknown_row;
    if (S_ISLNK(st.st_mode))
        return judge_moved_link(dir, "", state, &content);
    if (!S_ISDIR(st.st_mode) || (!content.is_whole && !protected_is_open(state)))
        return NULL;
    return judge_content(dir, state, &content, 0);
}

/* In a git directory every link counts, however deep it lies. */
const struct protected_name *protected_judge_content(int dir, const struct protected_state *state)
{
    return judge_moved(dir, state, (struct content){.is_whole = state->git != GIT_OUTSIDE});
}

/* Most directories are moved between places with the same rules, and need not be read. Inside a git
 * directory, and below node_modules, names are free that are protected elsewhere. */
const struct protected_name *protected_judge_move(int dir, const char *from, const char *to)
{
    struct protected_state here, there;
    struct content content = {0};
    const struct protected_name *row = judge(-1, to, &there);

    if (row)
        return row;
    (void)judge(-1, from, &here);
    content.is_leaving = here.is_installed && !there.is_installed;
    content.is_whole = content.is_leaving || here.git != GIT_OUTSIDE || there.git != GIT_OUTSIDE;
    return judge_moved(dir, &there, content);
}

const struct protected_name *protected_judge_own(const char *path)
{
    struct protected_state state;
    const struct protected_name *row = judge(-1, path, &state);

    return row && strcmp(row->reason, protected_own_row.reason) == 0 ? row : NULL;
}
