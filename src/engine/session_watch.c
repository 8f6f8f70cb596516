#include "engine/session_watch.h"

#include <stdlib.h>
#include <string.h>

#include "base/share.h"
#include "engine/session_files.h"
#include "engine/session_internal.h"

struct session_watch {
    LIST_ENTRY(session_watch) link;
    struct session *session;
    struct session_watch_options options;
    struct tree_watch *tree;
};

void session_watch_free(struct session_watch *watch)
{
    if (!watch)
        return;
    LIST_REMOVE(watch, link);
    watch->session->n_watches--;
    watch->session->table->n_watches--;
    tree_watch_free(watch->tree);
    free(watch);
}

static void end(struct session_watch *watch, const char *why)
{
    const struct session_watch_options options = watch->options;

    session_watch_free(watch);
    options.on_end(options.user, why);
}

void session_end_watches(struct session *s, const char *why)
{
    while (!LIST_EMPTY(&s->watches))
        end(LIST_FIRST(&s->watches), why);
}

static void on_ready(void *user)
{
    const struct session_watch *watch = user;

    if (watch->options.on_ready)
        watch->options.on_ready(watch->options.user);
}

static void on_event(void *user, const struct tree_event *event)
{
    const struct session_watch *watch = user;

    watch->options.on_event(watch->options.user, event);
}

static void on_gone(void *user)
{
    end(user, "the directory was removed or moved");
}

void session_watch_hold(struct session_watch *watch, bool is_held)
{
    tree_watch_hold(watch->tree, is_held);
}

/* Nobody has so many that others get none. */
static bool has_room(const struct session *s)
{
    struct share share = {.total = SESSION_WATCHES_TOTAL,
                          .used = s->table->n_watches,
                          .has_others = sessions_have_others(s->table)};

    for (const struct session *o = sessions_next(s->table, NULL); o; o = sessions_next(s->table, o))
        share.own += strcmp(o->owner, s->owner) == 0 ? o->n_watches : 0;
    return share_allows(&share, 1);
}

static int check_count(const struct session *s, struct error *err)
{
    if (s->n_watches >= SESSION_WATCHES)
        error_set(err, E_BUSY, "the session has %d watches, which is the limit", SESSION_WATCHES);
    else if (!has_room(s))
        error_set(err, E_BUSY, "there are too many watches: the server has room for %d in all",
                  SESSION_WATCHES_TOTAL);
    else
        return 0;
    return error_hint(err, "end one, or watch a directory above with `recursive`");
}

int session_watch_new(struct session *s, const struct session_watch_options *options,
                      struct session_watch **ret_watch, struct error *err)
{
    const struct files *files = session_need_files(s, err);
    struct tree_watch_options tree = {
        .loop = s->table->loop,
        .files = files,
        .path = options->path,
        .is_recursive = options->is_recursive,
        .on_ready = on_ready,
        .on_event = on_event,
        .on_gone = on_gone,
    };
    struct session_watch *watch;

    if (!files || check_count(s, err) < 0)
        return -1;
    watch = calloc(1, sizeof(*watch));
    if (!watch)
        return error_memory(err);
    *watch = (struct session_watch){.session = s, .options = *options};
    tree.user = watch;
    if (tree_watch_new(&tree, &watch->tree, err) < 0) {
        free(watch);
        return -1;
    }
    LIST_INSERT_HEAD(&s->watches, watch, link);
    s->n_watches++;
    s->table->n_watches++;
    *ret_watch = watch;
    return 0;
}
