/* Sessions inside, each under a name that this server made and nobody can guess. The one outside
 * keeps owner, clocks, queue and records; what is here hands over cells and small requests.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "base/json.h"
#include "engine/pool.h"
#include "vm/inside.h"
#include "vm/internal.h"

#define BODY_MAX ((size_t)16 << 20)

/* Of an answer that is a few words. */
#define ANSWER_MAX ((size_t)64 << 10)

/* A cell that had not begun was not interrupted: so often it is tried again. */
#define INTERRUPT_AGAIN_MS 200

struct away {
    LIST_ENTRY(away) link;
    struct exchanges *all;
    const struct away_events *events;
    void *owner; /* NULL: it is gone for this host */
    char name[ID_SIZE];
    struct run *cell;
    struct exchange *exchange;
    struct errand *opening;
    bool is_open, is_interrupted;
    struct loop_watch *again;
    struct loop_work ending;
    struct error why; /* E_NONE: it was closed */
};

/* --- calls: requests that are answered in a few words --- */

typedef void (*errand_fn)(struct errand *errand, struct error *err);

struct errand {
    LIST_ENTRY(errand) link;
    struct exchanges *all;
    struct away *away; /* NULL: nobody wants the answer */
    errand_fn then;
    struct ask *ask;
    struct loop_watch *patience;
    struct loop_work failing;
    int status;
    struct buf answer;
};

static void errand_free(struct errand *errand)
{
    LIST_REMOVE(errand, link);
    ask_free(errand->ask);
    loop_watch_free(errand->patience);
    loop_work_cancel(&errand->failing);
    buf_done(&errand->answer);
    free(errand);
}

static void errand_end(struct errand *errand, struct error *err)
{
    if (errand->away && errand->then)
        errand->then(errand, err);
    errand_free(errand);
}

static int on_head(void *user, const struct http_head *head, struct error *err)
{
    struct errand *errand = user;

    errand->status = head->status;
    return head->framing == HTTP_UNTIL_CLOSE ? http_malformed("its head", err) : 0;
}

static int on_piece(void *user, const char *data, size_t len, struct error *err)
{
    struct errand *errand = user;

    return buf_add(&errand->answer, data, len, err);
}

static void on_end(void *user)
{
    cleanup_error struct error err = {0};
    struct errand *errand = user;

    if (errand->status < 200 || errand->status > 299)
        inside_take_error(errand->all->masks, buf_str(&errand->answer), errand->answer.len, &err);
    errand_end(errand, &err);
}

static void on_failed(void *user, const struct error *err)
{
    cleanup_error struct error copy = {0};

    error_copy(&copy, err);
    errand_end(user, &copy);
}

static void on_sent(void *user)
{
    struct errand *errand = user;

    loop_timer_start(errand->patience, GRACE_MS);
}

static void on_patience(void *arg)
{
    struct errand *errand = arg;
    struct keeper *keeper = errand->all->keeper;
    cleanup_error struct error err = {0};

    error_set(&err, E_SYSTEM, "the virtual machine did not answer in time");
    errand_end(errand, &err);
    keeper_end(keeper);
}

static void fail_now(void *arg)
{
    cleanup_error struct error err = {0};

    error_memory(&err);
    errand_end(arg, &err);
}

/* NULL: out of memory, and nothing follows. */
static struct errand *errand_new(struct away *away, const char *method, const char *behind,
                                 const struct buf *body, errand_fn then)
{
    static const struct ask_events events = {.on_head = on_head,
                                             .on_piece = on_piece,
                                             .on_end = on_end,
                                             .on_failed = on_failed,
                                             .on_sent = on_sent};
    cleanup(buf_done) struct buf path = BUF_OF(KIB);
    struct ask_order order = {.method = method, .body = body, .is_eager = !behind};
    struct errand *errand = calloc(1, sizeof(*errand));

    if (!errand)
        return NULL;
    *errand = (struct errand){.all = away->all, .away = away, .then = then};
    LIST_INSERT_HEAD(&away->all->errands, errand, link);
    buf_init(&errand->answer, ANSWER_MAX);
    errand->patience = loop_timer(away->all->loop, on_patience, errand);
    if (errand->patience && (!behind || away_path(away, behind, &path, NULL) == 0)) {
        order.path = behind ? buf_str(&path) : "/v1/sessions";
        errand->ask = ask_new(away->all->loop, away->all->keeper, &order, &events, errand);
    }
    if (!errand->ask)
        loop_work_post(away->all->loop, &errand->failing, fail_now, errand);
    return errand;
}

/* --- the end --- */

static void away_free(struct away *away)
{
    struct errand *errand;

    LIST_FOREACH(errand, &away->all->errands, link)
        if (errand->away == away)
            errand->away = NULL;
    LIST_REMOVE(away, link);
    exchange_drop(away->exchange);
    loop_watch_free(away->again);
    loop_work_cancel(&away->ending);
    error_done(&away->why);
    free(away);
}

/* The machine ends it, if it is up; its own clocks end what cannot be told. */
static void delete_inside(struct away *away)
{
    struct errand *errand = away->is_open ? errand_new(away, "DELETE", "", NULL, NULL) : NULL;

    if (errand)
        errand->away = NULL;
}

/* The owner has no session here any more. One that is being opened inside stays until that is
 * answered: only then it can be deleted. */
static void end_now(void *arg)
{
    struct away *away = arg;
    cleanup_error struct error why = {0};
    const struct away_events *events = away->events;
    struct run *cell = take_ptr(away->cell);
    void *owner = take_ptr(away->owner);

    loop_work_cancel(&away->ending);
    error_move(&why, &away->why);
    exchange_drop(take_ptr(away->exchange));
    if (!away->opening) {
        delete_inside(away);
        away_free(away);
    }
    if (!owner)
        return;
    events->on_gone(owner, cell, &why);
}

static void end(struct away *away, const struct error *why)
{
    if (why && away->why.code == E_NONE && !away->ending.loop)
        error_copy(&away->why, why);
    loop_work_post(away->all->loop, &away->ending, end_now, away);
}

static void away_close(struct away *away)
{
    end(away, NULL);
}

/* One that is still opening hears from its request what has happened, which knows more. */
void away_lose_all(struct exchanges *all)
{
    cleanup_error struct error err = {0};
    struct away *away;

    error_set(&err, E_LOST, "its virtual machine has ended");
    LIST_FOREACH(away, &all->aways, link)
        if (away->owner && !away->opening) {
            away->is_open = false; /* nothing is left to be deleted */
            end(away, &err);
        }
}

static void settle(void *user)
{
    struct exchanges *all = user;
    struct away *away = LIST_FIRST(&all->aways);

    while (away) {
        bool is_due = away->ending.loop != NULL;

        if (is_due)
            end_now(away);
        away = is_due ? LIST_FIRST(&all->aways) : LIST_NEXT(away, link);
    }
}

void away_free_all(struct exchanges *all)
{
    while (!LIST_EMPTY(&all->errands))
        errand_free(LIST_FIRST(&all->errands));
    while (!LIST_EMPTY(&all->aways))
        away_free(LIST_FIRST(&all->aways));
}

/* --- opening --- */

static void on_opened(struct errand *errand, struct error *err)
{
    struct away *away = errand->away;

    away->opening = NULL;
    away->is_open = err->code == E_NONE;
    if (!away->owner) {
        delete_inside(away);
        away_free(away);
    } else if (err->code != E_NONE) {
        end(away, err);
    } else if (!away->ending.loop) {
        away->events->on_open(away->owner);
    }
}

static void try_interrupt(void *arg);

static int begin_opening(struct away *away, const struct away_order *order)
{
    cleanup(buf_done) struct buf body = BUF_OF(BODY_MAX);

    if (inside_opening(away->name, order->terms, order->idle_ms, order->lifetime_ms, &body,
                       &away->why) < 0)
        return -1;
    away->opening = errand_new(away, "POST", NULL, &body, on_opened);
    return away->opening ? 0 : error_memory(&away->why);
}

static struct away *away_open(void *user, const struct away_order *order,
                              const struct away_events *events, void *owner)
{
    struct exchanges *all = user;
    struct away *away = calloc(1, sizeof(*away));

    if (!away)
        return NULL;
    *away = (struct away){.all = all, .events = events, .owner = owner};
    LIST_INSERT_HEAD(&all->aways, away, link);
    away->again = loop_timer(all->loop, try_interrupt, away);
    if (!away->again || id_make(away->name, "vms_") < 0) {
        away_free(away);
        return NULL;
    }
    if (begin_opening(away, order) < 0)
        end(away, NULL);
    return away;
}

static int check_terms(void *user, const struct run_terms *terms, struct error *err)
{
    const struct exchanges *all = user;

    return inside_check(terms, err) < 0 ? -1 : keeper_check_grants(all->keeper, terms, err);
}

/* --- cells --- */

static void on_cell_done(void *user, struct run *cell)
{
    struct away *away = user;
    cleanup_error struct error err = {0};

    away->cell = NULL;
    away->exchange = NULL;
    away->is_interrupted = false;
    loop_timer_stop(away->again);
    if (cell->result.error.code == E_NOT_FOUND) { /* there is none inside any more */
        error_set(&err, E_SYSTEM, "its sandbox in the virtual machine has ended");
        end(away, &err);
    }
    away->events->on_done(away->owner, cell);
}

static void submit_cell(struct away *away, struct run *cell)
{
    cleanup(buf_done) struct buf path = BUF_OF(KIB);

    away->cell = cell;
    away->is_interrupted = false;
    if (away_path(away, "/execute", &path, NULL) == 0)
        away->exchange =
            exchange_new(away->all, cell, buf_str(&path), inside_cell, on_cell_done, away);
    if (!away->exchange)
        end(away, NULL);
}

static void on_interrupted(struct errand *errand, struct error *err)
{
    static const struct json_text_limits limits = {.bytes = ANSWER_MAX, .depth = 4};
    cleanup_json json_t *answer = NULL;
    struct away *away = errand->away;

    if (err->code != E_NONE || !away->is_interrupted ||
        json_text_load(buf_str(&errand->answer), errand->answer.len, &limits, &answer, err) < 0)
        return;
    if (json_is_false(json_object_get(answer, "interrupted")))
        loop_timer_start(away->again, INTERRUPT_AGAIN_MS);
}

static void try_interrupt(void *arg)
{
    struct away *away = arg;
    cleanup(buf_done) struct buf body = BUF_OF(KIB);

    if (away->cell && away->is_interrupted && buf_add_str(&body, "{}", NULL) == 0)
        (void)errand_new(away, "POST", "/interrupt", &body, on_interrupted);
}

static void interrupt(struct away *away)
{
    if (away->is_interrupted)
        return;
    away->is_interrupted = true;
    try_interrupt(away);
}

/* --- kernels --- */

static void on_restarted(struct errand *errand, struct error *err)
{
    struct away *away = errand->away;

    if (!away->owner)
        return;
    if (err->code != E_NONE)
        end(away, err);
    else if (!away->ending.loop)
        away->events->on_restarted(away->owner);
}

static void restart(struct away *away, enum run_language language)
{
    cleanup(buf_done) struct buf body = BUF_OF(KIB);

    if (buf_printf(&body, NULL, "{\"language\":\"%s\"}", languages[language].name) < 0 ||
        !errand_new(away, "POST", "/restart", &body, on_restarted))
        end(away, NULL);
}

/* --- interface --- */

struct exchanges *away_exchanges(const struct away *away)
{
    return away->all;
}

int away_path(const struct away *away, const char *behind, struct buf *out, struct error *err)
{
    return buf_printf(out, err, "/v1/sessions/%s%s", away->name, behind);
}

void away_fill(struct elsewhere *elsewhere)
{
    elsewhere->check = check_terms;
    elsewhere->open = away_open;
    elsewhere->cell = submit_cell;
    elsewhere->interrupt = interrupt;
    elsewhere->restart = restart;
    elsewhere->close = away_close;
    elsewhere->settle = settle;
}
