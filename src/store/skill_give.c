/* Skills on their way into a sandbox. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/span.h"
#include "base/utf8.h"
#include "store/public_skills.h"
#include "store/skill_internal.h"
#include "wire/policy.h"

#define SKILLS "skills"

struct giving {
    struct store *store;
    const char *owner;
    struct run *run;
    json_t *left; /* {key: name} of those that were not given yet */
};

static bool allows_skills(const struct run *run)
{
    struct wire_policy policy;
    bool is_listed = false, is_denied = false;

    if (wire_policy_decode(run->terms.policy, &policy) < 0)
        return false;
    for (size_t i = 0; i < policy.n_rows; i++) {
        const struct policy_row *row = &policy.rows[i];

        if (row->key.len != strlen(SKILLS) || memcmp(row->key.data, SKILLS, row->key.len) != 0)
            continue;
        is_listed |= row->list == POLICY_IMPORT_ALLOW;
        is_denied |= row->list == POLICY_IMPORT_DENY;
    }
    is_listed |= !(policy.flags & POLICY_IMPORTS_LISTED);
    wire_policy_done(&policy);
    return is_listed && !is_denied;
}

/* --- one of them --- */

/* A text for another system is given as it has to be for this one; all else as it is. */
static int give_file(struct run *run, const struct skill_bundle *folder,
                     const struct skill_bundle_file *file, const char *path, struct error *err)
{
    struct run_given given = {.path = (char *)path,
                              .data = file->data,
                              .len = file->len,
                              .is_executable = file->is_executable};
    const struct span text = {file->data, file->len};
    cleanup(buf_done) struct buf rewritten = BUF_OF(2 * LIMIT_FOLDER_BYTES);

    if (folder->description && span_contains(text, "/mnt/") && !memchr(text.data, '\0', text.len) &&
        utf8_valid(text.data, text.len) == text.len) {
        if (skill_bundle_rewrite(folder->name, text, &rewritten, err) < 0)
            return -1;
        given.data = (char *)buf_str(&rewritten);
        given.len = rewritten.len;
    }
    return run_give_skill(run, &given, err);
}

static int give_skill(struct giving *g, const char *key, struct error *err)
{
    cleanup(skill_bundle_done) struct skill_bundle folder = {0};
    char path[SKILL_BUNDLE_PATH_MAX + STORE_NAME_MAX + sizeof(SKILLS) + 8];

    if (skill_open(g->store, g->owner, key, 0, &folder, err) < 0)
        return -1;
    for (size_t i = 0; i < folder.count; i++) {
        (void)snprintf(path, sizeof(path), SKILLS "/%s%s%s", folder.description ? key : "",
                       folder.description ? "/" : "", folder.files[i].path);
        if (give_file(g->run, &folder, &folder.files[i], path, err) < 0)
            return -1;
    }
    return 0;
}

/* --- all of them --- */

/* By the names that stand in it: a name too many costs some files, one too few an import. */
static int give_named(struct giving *g, struct span text, struct error *err)
{
    const char *key;
    json_t *name;
    void *next;

    json_object_foreach_safe(g->left, next, key, name)
    {
        if (!span_contains(text, key) && !span_contains(text, json_string_value(name)))
            continue;
        if (give_skill(g, key, err) < 0)
            return -1;
        (void)json_object_del(g->left, key);
    }
    return 0;
}

static bool is_program(const char *path)
{
    const char *end = strrchr(path, '.');

    return end && (strcmp(end, ".py") == 0 || strcmp(end, ".sh") == 0);
}

/* The program's, and then those of each that was given. */
static int give_all(struct giving *g, struct error *err)
{
    struct run *run = g->run;
    size_t next = run->program.n_given;
    int r = give_named(g, (struct span){buf_str(&run->program.code), run->program.code.len}, err);

    for (; r == 0 && next < run->program.n_given; next++) {
        struct span text = {run->program.given[next].data, run->program.given[next].len};

        if (is_program(run->program.given[next].path) && span_contains(text, SKILLS))
            r = give_named(g, text, err);
    }
    return r;
}

static int add_own(struct giving *g, struct error *err)
{
    cleanup(store_end) sqlite3_stmt *row = NULL;
    int r;

    if (!store_is_there(g->store))
        return 0;
    row = store_query(g->store, err,
                      "SELECT name, COALESCE((SELECT title FROM folder f WHERE f.owner=skill.owner"
                      " AND f.name=skill.name AND f.version=skill.version), name) FROM skill"
                      " WHERE owner=? AND" SKILL_LAST,
                      "s", g->owner);
    r = row ? 0 : -1;
    while (row && (r = store_step(g->store, row, err)) > 0)
        (void)json_object_set_new(g->left, (const char *)sqlite3_column_text(row, 0),
                                  json_string((const char *)sqlite3_column_text(row, 1)));
    return r;
}

int skill_give(struct store *store, const char *owner, struct run *run, struct error *err)
{
    struct giving g = {.store = store, .owner = owner, .run = run};
    int r;

    if (!store ||
        !span_contains((struct span){buf_str(&run->program.code), run->program.code.len}, SKILLS) ||
        !allows_skills(run))
        return 0;
    g.left = public_skills_names(store);
    if (!g.left)
        return error_memory(err);
    r = add_own(&g, err) < 0 ? -1 : give_all(&g, err);
    json_decref(g.left);
    return r;
}
