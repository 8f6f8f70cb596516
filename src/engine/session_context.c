/* Contexts: kernels of a session besides those of its languages, each with its own variables and
 * directory. They share the sandbox and its limits. A cell that names one runs there; cells of all
 * kernels have one queue. The kernel is started by its first cell. */
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "base/paths.h"
#include "engine/session_internal.h"

static void fill_info(const struct session_context *c, struct context_info *ret_info)
{
    *ret_info = (struct context_info){
        .id = c->id, .language = c->kernel.language, .directory = c->directory};
}

static struct session_context *find(struct session *s, const char *id)
{
    for (size_t i = 0; *id && i < WIRE_CONTEXTS; i++)
        if (strcmp(s->contexts[i].id, id) == 0)
            return &s->contexts[i];
    return NULL;
}

static struct session_context *need(struct session *s, const char *id, struct error *err)
{
    struct session_context *found = find(s, id);

    if (found)
        return found;
    error_set(err, E_NOT_FOUND, "the session has no context with that id");
    error_hint(err, "GET /v1/sessions/%s/contexts lists those that there are", s->name);
    return NULL;
}

int session_context_of(struct session *s, const struct run *cell,
                       const struct box_context **ret_context, struct error *err)
{
    const struct session_context *c = NULL;

    *ret_context = NULL;
    if (!*cell->program.context)
        return 0;
    c = need(s, cell->program.context, err);
    if (!c)
        return -1;
    *ret_context = &c->kernel;
    return 0;
}

/* --- opening --- */

static bool is_known_place(const struct session *s, const char *path)
{
    if (paths_below(path, "/tmp"))
        return true;
    for (size_t i = 0; i < s->terms.n_grants; i++)
        if (paths_below(path, s->terms.grants[i].path))
            return true;
    return false;
}

/* `ret_path`: as a kernel takes it. */
static int check_directory(struct session *s, const char *given, char ret_path[PATH_MAX],
                           struct error *err)
{
    struct files *files = session_files(s);
    struct files_entry entry;

    if (files_path_is_inside(given)) {
        if (files_path_check(given, strlen(given), ret_path, err) < 0)
            return error_wrap(err, "`workdir`");
        if (!*ret_path || !files)
            return 0;
        if (files_stat(files, ret_path, &entry, err) < 0)
            return error_wrap(err, "`workdir`");
        return entry.kind == FILES_DIRECTORY
                   ? 0
                   : error_set(err, E_INVALID, "`workdir`: not a directory");
    }
    /* The kernel enters it in the sandbox, and says so where it cannot. */
    if (is_known_place(s, given) && strlen(given) < PATH_MAX && !strstr(given, "/..")) {
        memcpy(ret_path, given, strlen(given) + 1);
        return 0;
    }
    error_set(err, E_DENIED,
              "`workdir`: not in /workspace or /tmp, and not in a granted directory");
    return error_hint(err, "name a directory of /workspace, like `data`");
}

static struct session_context *free_slot(struct session *s, struct error *err)
{
    for (size_t i = 0; i < WIRE_CONTEXTS; i++)
        if (!*s->contexts[i].id)
            return &s->contexts[i];
    error_set(err, E_TOO_LARGE, "the session has %d contexts, and no more are allowed",
              WIRE_CONTEXTS);
    error_hint(err, "delete one that is not needed");
    return NULL;
}

int session_open_context(struct session *s, enum run_language language, const char *directory,
                         struct context_info *ret_info, struct error *err)
{
    struct session_context *c = free_slot(s, err);
    char path[PATH_MAX] = "";

    if (!c || session_check_here(s, "contexts", err) < 0 || session_check_awake(s, err) < 0 ||
        (directory && check_directory(s, directory, path, err) < 0))
        return -1;
    if (s->copy)
        return error_set(err, E_BUSY, "the session is being copied");
    c->directory = strdup(directory ? directory : "");
    c->path = strdup(path);
    if (!c->directory || !c->path || id_make(c->id, "ctx_") < 0 ||
        session_tell(s, "context", "context", c->id, NULL, err) < 0) {
        session_free_context(c);
        return err->code == E_NONE ? error_memory(err) : -1;
    }
    c->kernel = (struct box_context){
        .slot = (unsigned)(c - s->contexts), .language = language, .directory = c->path};
    fill_info(c, ret_info);
    return 0;
}

void session_free_context(struct session_context *c)
{
    free(c->directory);
    free(c->path);
    *c = (struct session_context){0};
}

/* --- afterwards --- */

bool session_context_at(const struct session *s, size_t index, struct context_info *ret_info)
{
    for (size_t i = 0; i < WIRE_CONTEXTS; i++)
        if (*s->contexts[i].id && index-- == 0) {
            fill_info(&s->contexts[i], ret_info);
            return true;
        }
    return false;
}

int session_find_context(struct session *s, const char *id, struct context_info *ret_info,
                         struct error *err)
{
    const struct session_context *c = need(s, id, err);

    if (c)
        fill_info(c, ret_info);
    return c ? 0 : -1;
}

int session_restart_context(struct session *s, const char *id, struct error *err)
{
    struct session_context *c = need(s, id, err);

    if (!c || session_check_restart(s, err) < 0)
        return -1;
    if (s->box)
        box_restart_context(s->box, &c->kernel);
    return 0;
}

static bool has_cells(const struct session *s, const char *id)
{
    const struct session_cell *cell;

    if (s->current && strcmp(s->current->program.context, id) == 0)
        return true;
    TAILQ_FOREACH(cell, &s->queue, link)
        if (strcmp(cell->run->program.context, id) == 0)
            return true;
    return false;
}

int session_close_context(struct session *s, const char *id, struct error *err)
{
    struct session_context *c = need(s, id, err);

    if (!c || session_check_awake(s, err) < 0)
        return -1;
    if (has_cells(s, id)) {
        error_set(err, E_BUSY, "a cell of the context runs or waits");
        return error_hint(err, "wait for its end, or interrupt it first");
    }
    if (s->box)
        box_drop_context(s->box, &c->kernel);
    session_free_context(c);
    return 0;
}

int session_check_contexts(const struct session *s, struct error *err)
{
    struct context_info info;

    if (!session_context_at(s, 0, &info))
        return 0;
    error_set(err, E_INVALID, "a session with contexts cannot be copied, and it has `%s`", info.id);
    return error_hint(err, "delete the contexts first: DELETE /v1/sessions/%s/contexts/ID",
                      s->name);
}
