/* The extension TREE: for each directory how many entries of the index are below it, and the object
 * it is when it is committed. Directories come before those in them. A number of -1 says that the
 * directory has changed and has no object yet. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sandbox/git_index_internal.h"

#define DEPTH_MAX 256

/* Directories are looked for one by one, and the paths in them compared for each level, so many
 * bytes in one step. Beyond this git does without the extension. */
#define STEPS_MAX  (1u << 25)
#define STEP_BYTES 64u

struct node {
    const char *name;
    size_t len;
    long count; /* of entries below; -1: changed */
    const uint8_t *id;
    size_t children, next; /* the number of nodes in it; the index behind the last one below it */
};

struct tree {
    const struct index_file *f;
    const uint8_t *at, *end;
    struct node *nodes;
    size_t n_nodes, size;
    size_t steps;
};

static void tree_done(struct tree *t)
{
    free(t->nodes);
}

/* A number in decimal, and what follows it. */
static bool read_number(struct tree *t, char behind, long *ret_value)
{
    bool is_negative = t->at < t->end && *t->at == '-';
    long value = 0;
    int digits = 0;

    for (t->at += is_negative; t->at < t->end && *t->at >= '0' && *t->at <= '9'; t->at++)
        if (++digits < 10)
            value = value * 10 + (*t->at - '0');
    if (digits == 0 || digits > 9 || t->at == t->end || *t->at != (uint8_t)behind)
        return false;
    t->at++;
    *ret_value = is_negative ? -value : value;
    return true;
}

/* One directory and all below it. */
static bool read_node(struct tree *t, unsigned depth)
{
    const uint8_t *name_end = memchr(t->at, '\0', (size_t)(t->end - t->at));
    size_t self = t->n_nodes;
    long children;

    if (!name_end || depth > DEPTH_MAX || self == t->size)
        return false;
    t->n_nodes++;
    t->nodes[self].name = (const char *)t->at;
    t->nodes[self].len = (size_t)(name_end - t->at);
    t->at = name_end + 1;
    if (!read_number(t, ' ', &t->nodes[self].count) || !read_number(t, '\n', &children) ||
        t->nodes[self].count < -1 || children < 0)
        return false;
    if (t->nodes[self].count >= 0) {
        if ((size_t)(t->end - t->at) < t->f->id_bytes)
            return false;
        t->nodes[self].id = t->at;
        t->at += t->f->id_bytes;
    }
    t->nodes[self].children = (size_t)children;
    for (long i = 0; i < children; i++)
        if (!read_node(t, depth + 1))
            return false;
    t->nodes[self].next = t->n_nodes;
    return true;
}

/* Position of a directory of that name among those in `above`; 0: there is none. */
static size_t find_child(struct tree *t, size_t above, const char *name, size_t len)
{
    size_t at = above + 1;

    for (size_t i = 0; i < t->nodes[above].children && t->steps < STEPS_MAX;
         i++, t->steps++, at = t->nodes[at].next)
        if (t->nodes[at].len == len && memcmp(t->nodes[at].name, name, len) == 0)
            return at;
    return 0;
}

/* --- is it true? --- */

static bool is_true(struct tree *t, size_t self, size_t from, size_t to, size_t prefix);

/* Behind the last entry whose path begins like that of `from`, for `len` bytes. */
static size_t end_of(struct tree *t, size_t from, size_t to, size_t len)
{
    const struct index_file *f = t->f;
    size_t at = from + 1;

    while (at < to && t->steps < STEPS_MAX && f->entries[at].len >= len &&
           memcmp(f->entries[at].path, f->entries[from].path, len) == 0) {
        t->steps += 1 + len / STEP_BYTES;
        at++;
    }
    return at;
}

/* Adds one line of the directory to `content`. */
static bool add_line(struct buf *content, uint32_t mode, const char *name, size_t len,
                     const uint8_t *id, unsigned id_bytes)
{
    return buf_printf(content, NULL, "%o %.*s", mode, (int)len, name) == 0 &&
           buf_add(content, "", 1, NULL) == 0 && buf_add(content, id, id_bytes, NULL) == 0;
}

/* A directory at `from`: of those that have an object, also what it is. */
static bool take_directory(struct tree *t, size_t self, size_t from, size_t end, size_t prefix,
                           size_t len, struct buf *content, size_t *seen)
{
    const char *name = t->f->entries[from].path + prefix;
    size_t child = find_child(t, self, name, len);

    if (!child)
        return t->nodes[self].count < 0;
    (*seen)++;
    if (!is_true(t, child, from, end, prefix + len + 1))
        return false;
    if (t->nodes[self].count < 0)
        return true;
    return t->nodes[child].count >= 0 &&
           add_line(content, GIT_MODE_DIRECTORY, name, len, t->nodes[child].id, t->f->id_bytes);
}

static bool has_digest(const struct tree *t, const struct buf *content, const uint8_t *id)
{
    uint8_t digest[GIT_HASH_MAX];
    struct git_hash hash;
    char header[32];

    (void)snprintf(header, sizeof(header), "tree %zu", content->len);
    git_hash_begin(&hash, t->f->id_bytes);
    git_hash_feed(&hash, header, strlen(header) + 1);
    git_hash_feed(&hash, buf_str(content), content->len);
    git_hash_end(&hash, digest);
    return memcmp(digest, id, t->f->id_bytes) == 0;
}

/* The entries `from` to `to` are those below the directory, whose path has `prefix` bytes. */
static bool is_true(struct tree *t, size_t self, size_t from, size_t to, size_t prefix)
{
    const struct node *node = &t->nodes[self];
    cleanup(buf_done) struct buf content = BUF_OF(GIT_INDEX_BYTES);
    size_t seen = 0;

    if (node->count >= 0 && (size_t)node->count != to - from)
        return false;
    while (from < to) {
        const struct index_entry *e = &t->f->entries[from];
        const char *slash = memchr(e->path + prefix, '/', e->len - prefix);
        size_t len = slash ? (size_t)(slash - e->path) - prefix : e->len - prefix;

        if (slash) {
            size_t end = end_of(t, from, to, prefix + len + 1);

            if (!take_directory(t, self, from, end, prefix, len, &content, &seen))
                return false;
            from = end;
            continue;
        }
        if (node->count >= 0 && (e->stage || !add_line(&content, e->mode, e->path + prefix, len,
                                                       e->id, t->f->id_bytes)))
            return false;
        from++;
    }
    /* Directories that no entry is in are none, unless they are only remembered as changed. */
    if (node->count < 0)
        return seen == node->children;
    return seen == node->children && has_digest(t, &content, node->id);
}

bool index_tree_is_true(const struct index_file *f, const uint8_t *data, size_t len)
{
    cleanup(tree_done) struct tree t = {.f = f, .at = data, .end = data + len};

    if (len == 0 || f->has_directories)
        return false;
    /* A directory takes at least six bytes: its name's end, two numbers and what is behind them. */
    t.size = len / 5 + 1;
    t.nodes = calloc(t.size, sizeof(*t.nodes));
    if (!t.nodes || !read_node(&t, 0) || t.at != t.end || t.nodes[0].len != 0)
        return false;
    return is_true(&t, 0, 0, f->n_entries, 0) && t.steps < STEPS_MAX;
}
