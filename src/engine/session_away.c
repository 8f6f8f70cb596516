/* A session that is elsewhere (engine/elsewhere.h): this host has its name, its clocks, its queue
 * and its records, and hands over one cell at a time. */
#include <stdlib.h>
#include <string.h>

#include "engine/session_internal.h"

int session_check_here(const struct session *s, const char *what, struct error *err)
{
    if (!pool_elsewhere(s->table->pool))
        return 0;
    error_set(err, E_UNSUPPORTED, "%s: not supported in a virtual machine yet", what);
    return error_hint(err, "leave it out, or use a server without `machine`");
}

int session_check_terms(const struct sessions *table, const struct run_terms *terms,
                        struct error *err)
{
    const struct elsewhere *elsewhere = pool_elsewhere(table->pool);

    return elsewhere ? elsewhere->check(elsewhere->user, terms, err) : 0;
}

bool session_is_free(const struct session *s)
{
    return s->away ? s->is_away_free : s->box && box_state(s->box) == BOX_KEPT;
}

static void on_open(void *owner)
{
    struct session *s = owner;

    s->is_away_open = s->is_away_free = true;
    if (!s->is_closing)
        session_started(s);
}

static void on_done(void *owner, struct run *cell)
{
    session_take_back(owner, cell);
}

static void on_restarted(void *owner)
{
    struct session *s = owner;

    s->is_away_free = true;
    session_go_on(s);
}

static void remember_lost(const struct session *s)
{
    struct sessions *table = s->table;
    struct lost_session *lost = &table->lost[table->n_lost++ % LOST_SESSIONS];

    free(lost->name);
    free(lost->owner);
    *lost = (struct lost_session){.name = strdup(s->name), .owner = strdup(s->owner)};
    memcpy(lost->id, s->id, sizeof(lost->id));
}

void sessions_forget_lost(struct sessions *table)
{
    for (size_t i = 0; i < LOST_SESSIONS; i++) {
        free(table->lost[i].name);
        free(table->lost[i].owner);
    }
}

int sessions_say_lost(const struct sessions *table, const char *owner, const char *name,
                      struct error *err)
{
    for (size_t i = 0; i < LOST_SESSIONS; i++) {
        const struct lost_session *lost = &table->lost[i];

        if (!lost->name || !lost->owner || strcmp(lost->owner, owner) != 0 ||
            (strcmp(lost->name, name) != 0 && strcmp(lost->id, name) != 0))
            continue;
        error_set(err, E_LOST, "the session was lost when its virtual machine ended");
        return error_hint(err, "open a new one; its variables and files are lost");
    }
    error_set(err, E_NOT_FOUND, "there is no session with that name");
    return error_hint(err, "it may have ended; open a new one");
}

static void on_gone(void *owner, struct run *cell, struct error *err)
{
    struct session *s = owner;

    if (!s->is_away_open && !s->is_closing)
        s->failure = err->code;
    if (s->is_away_open && !s->is_closing && err->code == E_LOST)
        remember_lost(s);
    s->away = NULL;
    s->is_away_free = s->is_away_open = false;
    session_begin_end(s, err->message ? err->message : "the virtual machine ended it");
    if (cell)
        session_take_back(s, cell);
    session_finish_end(s);
}

/* Its on_no_box ends the session, from the loop. */
void session_open_away(struct session *s)
{
    static const struct away_events events = {
        .on_open = on_open, .on_done = on_done, .on_restarted = on_restarted, .on_gone = on_gone};
    const struct elsewhere *elsewhere = pool_elsewhere(s->table->pool);
    const struct away_order order = {
        .terms = &s->terms, .idle_ms = s->idle_ms, .lifetime_ms = s->lifetime_ms};

    s->away = elsewhere->open(elsewhere->user, &order, &events, s);
    if (!s->away)
        pool_order(s->table->pool, &s->order);
}

void session_restart_away(struct session *s, enum run_language language)
{
    if (!s->is_away_free) /* it starts, and has nothing to lose */
        return;
    s->is_away_free = false;
    pool_elsewhere(s->table->pool)->restart(s->away, language);
}

const struct elsewhere *session_elsewhere(const struct session *s)
{
    return pool_elsewhere(s->table->pool);
}

struct away *session_away(struct session *s, struct error *err)
{
    if (s->away && s->is_away_open && !s->is_closing)
        return s->away;
    error_set(err, E_BUSY, "the session is starting");
    error_hint(err, "try again in a moment");
    return NULL;
}
