/* Resolves names: by Python's own rules, and for unused imports in the order in which Python
 * runs. */
#include <stdlib.h>
#include <string.h>

#include "library/code/names_internal.h"

/* ---- what each scope knows ---- */

static uint32_t place_of(const struct names *n, uint32_t scope, uint32_t name)
{
    uint32_t i = (scope * 2654435761U ^ name * 2246822519U) & n->entry_mask;

    while (n->entries[i].is_seen && (n->entries[i].scope != scope || n->entries[i].name != name))
        i = (i + 1) & n->entry_mask;
    return i;
}

const struct names_entry *names_entry(const struct names *n, uint32_t scope, uint32_t name)
{
    const struct names_entry *e = &n->entries[place_of(n, scope, name)];

    return e->is_seen ? e : NULL;
}

static struct names_entry *make_entry(struct names *n, uint32_t scope, uint32_t name)
{
    struct names_entry *e = &n->entries[place_of(n, scope, name)];

    if (!e->is_seen)
        *e = (struct names_entry){
            .scope = scope, .name = name, .is_seen = true, .import = NAMES_NOWHERE};
    return e;
}

/* Functions around a scope. Scopes may stand behind their children in the list, never in a ring. */
static uint32_t depth_of(struct names *n, uint32_t scope)
{
    struct names_scope *s = &n->scopes[scope];
    bool is_unit = s->kind == SCOPE_FUNCTION || s->kind == SCOPE_LAMBDA;

    if (s->unit_depth == UINT32_MAX)
        s->unit_depth = s->parent == NAMES_NOWHERE ? 0 : depth_of(n, s->parent) + is_unit;
    return s->unit_depth;
}

void names_resolve(struct names *n)
{
    size_t wanted = 256;

    /* Every event makes at most two: its own, and the module's for `global`. */
    while (wanted < 4 * n->n_events + 64)
        wanted *= 2;
    n->entries = calloc(wanted, sizeof(*n->entries));
    if (!n->entries) {
        n->is_out_of_memory = true;
        return;
    }
    n->entry_mask = (uint32_t)wanted - 1;
    for (size_t i = 0; i < n->n_events; i++) {
        const struct names_event *e = &n->events[i];
        struct names_entry *entry;

        if (!names_is_name(e->kind))
            continue;
        entry = make_entry(n, e->scope, e->name);
        entry->is_bound |= names_is_binding(e->kind);
        entry->is_global |= e->kind == NAMES_GLOBAL;
        entry->is_nonlocal |= e->kind == NAMES_NONLOCAL;
    }
    for (size_t i = 0; i < n->n_events; i++) {
        const struct names_event *e = &n->events[i];
        struct names_entry *entry;

        if (e->kind != NAMES_GLOBAL && e->kind != NAMES_NONLOCAL)
            continue;
        entry = make_entry(n, e->scope, e->name);
        if (entry->is_global && entry->is_bound && e->scope)
            make_entry(n, 0, e->name)->is_bound = true;
        if (e->scope)
            entry->is_bound = false;
    }
    for (uint32_t i = 0; i < n->n_scopes; i++)
        (void)depth_of(n, i);
}

uint32_t names_owner(const struct names *n, uint32_t scope, uint32_t name)
{
    for (uint32_t s = scope; s != NAMES_NOWHERE; s = n->scopes[s].parent) {
        const struct names_entry *e;

        if (s != scope && n->scopes[s].kind == SCOPE_CLASS)
            continue;
        e = names_entry(n, s, name);
        if (e && e->is_global)
            return names_entry(n, 0, name) && names_entry(n, 0, name)->is_bound ? 0 : NAMES_NOWHERE;
        if (e && e->is_bound)
            return s;
    }
    return NAMES_NOWHERE;
}

/* ---- unused imports ---- */

/* With `import a.b` and `import a as c`, who uses c may mean a.b. */
static void use_aliased(struct names *n, const struct names_entry *entry)
{
    const struct names_import *m;
    struct names_entry *full;
    uint32_t word;

    if (entry->import == NAMES_NOWHERE || n->imports[entry->import].name != NAMES_NOWHERE)
        return;
    m = &n->imports[entry->import];
    word = names_find(n, n->text + m->module, m->module_len);
    if (word == NAMES_NOWHERE)
        return;
    full = &n->entries[place_of(n, entry->scope, word)];
    if (full->is_seen)
        full->is_used = true;
}

/* As pyflakes and ruff see it: a class's names are seen by comprehensions in it, not by functions.
 */
static void use(struct names *n, const struct names_event *e)
{
    bool is_direct = true;

    for (uint32_t s = e->scope; s != NAMES_NOWHERE; s = n->scopes[s].parent) {
        struct names_entry *entry;

        if (n->scopes[s].kind == SCOPE_CLASS && !is_direct)
            continue;
        entry = &n->entries[place_of(n, s, e->name)];
        if (entry->is_seen && entry->is_there && !entry->is_annotation) {
            entry->is_used = true;
            use_aliased(n, entry);
            return;
        }
        is_direct = is_direct && n->scopes[s].kind == SCOPE_COMPREHENSION;
    }
}

static void bind(struct names *n, const struct names_event *e)
{
    struct names_entry *entry = make_entry(n, e->scope, e->name);
    bool is_import = e->kind == NAMES_IMPORT || e->kind == NAMES_FROM || e->kind == NAMES_ALIAS;

    if (e->kind == NAMES_ANNOTATE) {
        entry->is_annotation |= !entry->is_there;
        entry->is_there = true;
        return;
    }
    if (!entry->is_there)
        entry->is_used = false;
    entry->is_there = true;
    entry->is_annotation = false;
    entry->import = is_import ? e->about : NAMES_NOWHERE;
}

static void declare(struct names *n, const struct names_event *e)
{
    struct names_entry *entry;

    if (!e->scope)
        return;
    entry = make_entry(n, e->scope, e->name);
    entry->is_there = entry->is_used = true;
    entry->import = NAMES_NOWHERE;
    entry = make_entry(n, 0, e->name);
    if (!entry->is_there)
        entry->is_there = entry->is_used = true;
}

static void take(struct names *n, const struct names_event *e)
{
    switch (e->kind) {
    case NAMES_USE:
        use(n, e);
        break;
    case NAMES_AUGMENT:
        use(n, e);
        bind(n, e);
        break;
    case NAMES_DEL:
        make_entry(n, e->scope, e->name)->is_there = false;
        break;
    case NAMES_GLOBAL:
    case NAMES_NONLOCAL:
        declare(n, e);
        break;
    default:
        if (names_is_binding(e->kind))
            bind(n, e);
        break;
    }
}

/* Module first, then functions as they were met, then what they define; types in strings last. */
static bool take_all(struct names *n)
{
    uint32_t *in_order = calloc(n->order + 1U, sizeof(*in_order));
    uint32_t deepest = 0;

    if (!in_order) {
        n->is_out_of_memory = true;
        return false;
    }
    for (size_t i = 0; i < n->n_events; i++) {
        uint32_t depth = n->scopes[n->events[i].scope].unit_depth;

        in_order[n->events[i].order] = (uint32_t)i + 1;
        deepest = depth > deepest ? depth : deepest;
    }
    for (uint32_t depth = 0; depth <= deepest; depth++)
        for (uint32_t i = 0; i < n->order; i++)
            if (in_order[i] && n->scopes[n->events[in_order[i] - 1].scope].unit_depth == depth)
                take(n, &n->events[in_order[i] - 1]);
    free(in_order);
    return true;
}

static bool is_unused(const struct names *n, uint32_t index)
{
    const struct names_import *m = &n->imports[index];
    const struct names_event *binding;
    const struct names_entry *entry;
    const char *module = n->text + m->module;

    if (m->binding == NAMES_NOWHERE || m->is_same)
        return false;
    if (!m->level && m->module_len == 10 && memcmp(module, "__future__", 10) == 0)
        return false;
    binding = &n->events[m->binding];
    if (n->scopes[binding->scope].kind == SCOPE_CLASS)
        return false; /* an attribute */
    entry = names_entry(n, binding->scope, binding->name);
    return entry && entry->is_there && entry->import == index && !entry->is_used;
}

size_t names_unused(struct names *n, uint32_t *ret_imports)
{
    size_t count = 0;

    if (!n->n_imports)
        return 0;
    /* A comprehension's own names are its own from the beginning, wherever `for` stands. */
    for (size_t i = 0; i < n->n_events; i++)
        if (n->events[i].kind == NAMES_STORE &&
            n->scopes[n->events[i].scope].kind == SCOPE_COMPREHENSION)
            bind(n, &n->events[i]);
    if (!take_all(n))
        return 0;
    for (size_t i = 0; i < n->n_events; i++) {
        const struct names_event *e = &n->events[i];

        if (e->kind == NAMES_TYPE_USE)
            use(n, e);
        else if (e->kind == NAMES_EXPORT)
            make_entry(n, 0, e->name)->is_used = true;
    }
    for (uint32_t i = 0; i < n->n_imports; i++)
        if (is_unused(n, i))
            ret_imports[count++] = i;
    return count;
}

/* ---- renaming ---- */

static bool is_within(const struct names *n, uint32_t scope, uint32_t outer)
{
    for (uint32_t s = scope; s != NAMES_NOWHERE; s = n->scopes[s].parent)
        if (s == outer)
            return true;
    return false;
}

/* A name `fresh` that is there already, and sees what is renamed in `owner`. */
static bool sees(const struct names *n, const struct names_event *e, uint32_t owner)
{
    uint32_t own = names_owner(n, e->scope, e->name);

    return is_within(n, e->scope, owner) && (own == NAMES_NOWHERE || is_within(n, owner, own));
}

/* Between a name and its owner, somebody else has the new name. */
static bool is_hidden(const struct names *n, uint32_t scope, uint32_t owner, uint32_t fresh)
{
    for (uint32_t s = scope; s != NAMES_NOWHERE; s = n->scopes[s].parent) {
        const struct names_entry *e = names_entry(n, s, fresh);

        if (e && (e->is_bound || e->is_global) &&
            (s == scope || s == owner || n->scopes[s].kind != SCOPE_CLASS))
            return true;
        if (s == owner)
            return false;
    }
    return false;
}

static bool is_renamed(const struct names *n, uint32_t owner, enum names_renamed which)
{
    if (which == NAMES_RENAME_MODULE)
        return owner == 0;
    return which == NAMES_RENAME_ALL || n->scopes[owner].kind != SCOPE_CLASS;
}

uint32_t names_conflict(const struct names *n, uint32_t old, uint32_t fresh,
                        enum names_renamed which)
{
    uint32_t last_owner = NAMES_NOWHERE;

    for (size_t i = 0; fresh != NAMES_NOWHERE && i < n->n_events; i++) {
        const struct names_event *e = &n->events[i];
        uint32_t owner;

        if (e->name != old || !names_is_name(e->kind))
            continue;
        owner = names_owner(n, e->scope, old);
        if (owner == NAMES_NOWHERE)
            owner = 0;
        if (!is_renamed(n, owner, which))
            continue;
        if (is_hidden(n, e->scope, owner, fresh))
            return e->line;
        if (owner == last_owner)
            continue;
        last_owner = owner;
        for (size_t k = 0; k < n->n_events; k++)
            if (n->events[k].name == fresh && names_is_name(n->events[k].kind) &&
                sees(n, &n->events[k], owner))
                return n->events[k].line;
    }
    return 0;
}
