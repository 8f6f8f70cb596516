/* Questions of a run: calls that need approval, hosts that no grant names, and lines that somebody
 * types. Meanwhile the clock of the run stands (box_cell.h, n_held). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "base/sha256.h"
#include "calls/approval.h"
#include "calls/outside.h"
#include "engine/box_internal.h"
#include "engine/masking.h"
#include "engine/recorder.h"
#include "engine/remembered_hosts.h"

/* --- the clock, and the door --- */

/* As somebody sees them who decides. */
void box_show_arguments(struct run *run, struct approval *approval)
{
    cleanup(buf_done) struct buf text = BUF_OF(8 * MIB);
    json_t *shown =
        mask_json_for_review(mask_context_of(run), approval->arguments, &approval->hidden);

    if (shown && json_text_dump(shown, JSON_TEXT_COMPACT, &text, NULL) == 0)
        approval->shown = take_ptr(text.data);
    json_decref(shown);
}

static void hold_clock(struct box *b)
{
    if (b->cell.n_held++)
        return;
    box_look(b);
    b->cell.held_since_ns = loop_now_ns();
    b->cell.held_cpu_ms = b->cell.cpu_ms;
    box_watch_limits(b);
}

/* For how long the clock has stood in the present question: less what was computed meanwhile, and
 * so it never goes faster than time. */
static uint64_t standing_ns(const struct box *b)
{
    uint64_t passed = loop_now_ns() - b->cell.held_since_ns;
    uint64_t used =
        b->cell.cpu_ms > b->cell.held_cpu_ms ? (b->cell.cpu_ms - b->cell.held_cpu_ms) * 1000000 : 0;

    return used < passed ? passed - used : 0;
}

uint64_t box_clock_ns(const struct box *b)
{
    return loop_now_ns() - b->cell.clock_ns - b->cell.stood_ns -
           (b->cell.n_held ? standing_ns(b) : 0);
}

static uint64_t time_left_ns(const struct box *b)
{
    uint64_t limit = (uint64_t)b->run->terms.limits.timeout_ms * 1000000;
    uint64_t passed = box_clock_ns(b);

    return passed < limit ? limit - passed : 0;
}

bool box_is_out_of_time(const struct box *b)
{
    return b->cell.n_held && b->run->terms.limits.timeout_ms && time_left_ns(b) == 0;
}

bool box_has_more_time(struct box *b)
{
    uint64_t left = b->cell.n_held || b->cell.stood_ns ? time_left_ns(b) : 0;

    /* While it is held, box_on_tick() looks. */
    if (left && !b->cell.n_held)
        loop_timer_start(b->deadline, left / 1000000 + 1);
    return left > 0;
}

void box_want_line(struct box *b, struct call *call)
{
    hold_clock(b);
    b->run->on_event(b->run, &(struct run_event){.kind = RUN_EVENT_INPUT, .input = call});
}

void box_ask(struct box *b, struct approval *approval)
{
    struct run *run = b->run;

    hold_clock(b);
    box_show_arguments(run, approval);
    if (run->on_event)
        run->on_event(run, &(struct run_event){.kind = RUN_EVENT_APPROVAL, .approval = approval});
}

void box_asked(struct box *b)
{
    if (!b->cell.n_held)
        return;
    if (b->cell.n_held == 1) {
        box_look(b);
        b->cell.stood_ns += standing_ns(b);
    }
    if (--b->cell.n_held == 0 && b->run && b->run->terms.limits.timeout_ms &&
        b->state == BOX_RUNNING && b->cell.state == CELL_SENT && b->cell.verdict == BOX_NO_VERDICT)
        loop_timer_start(b->deadline, time_left_ns(b) / 1000000 + 1);
}

/* --- hosts --- */

/* One that waits. */
struct host_question {
    struct box *box;
    struct host_question *next;
    struct approval *approval;
    char grant[EGRESS_GRANT_TEXT];
    uint64_t begun_ns;
};

/* The trail has each answer, beside the connections themselves. */
static int record(struct box *b, const char *grant, const char *answer, const char *by,
                  uint64_t since_ns, struct error *err)
{
    return recorder_net(
        b->recorder,
        &(struct recorder_net){.run = b->run->id,
                               .session = b->run->origin.session,
                               .owner = b->run->origin.owner,
                               .host = grant,
                               .how = "ask",
                               .asked = answer,
                               .decided_by = by,
                               .ms = since_ns ? (double)(loop_now_ns() - since_ns) / 1e6 : 0},
        err);
}

static void drop(struct host_question *q)
{
    struct host_question **at = &q->box->gate.questions;

    while (*at && *at != q)
        at = &(*at)->next;
    if (*at)
        *at = q->next;
    approval_free(q->approval);
    free(q);
}

/* A host allowed for good is remembered after it is in the trail. A file that cannot be written
 * makes it a yes for this session, which the log of the operator says. */
static void remember(const struct host_question *q)
{
    struct error err = {0};

    if (remembered_hosts_add(q->grant, &err) < 0)
        LOG_EVENT(LOG_WARNING, "host_not_remembered", {.key = "host", .text = q->grant},
                  {.key = "error", .text = err.message});
    error_done(&err);
}

static void on_answer(void *user, enum approval_answer answer)
{
    static const char *const words[] = {[APPROVAL_YES] = "yes",
                                        [APPROVAL_NO] = "no",
                                        [APPROVAL_LATE] = "late",
                                        [APPROVAL_ALWAYS] = "always"};
    struct host_question *q = user;
    struct box *b = q->box;
    char grant[EGRESS_GRANT_TEXT];
    bool is_yes = answer == APPROVAL_YES || answer == APPROVAL_ALWAYS;

    memcpy(grant, q->grant, sizeof(grant));
    /* A yes that cannot be recorded is none. */
    if (record(b, grant, words[answer], q->approval->by, q->begun_ns, NULL) < 0)
        is_yes = false;
    else if (answer == APPROVAL_ALWAYS)
        remember(q);
    b->gate.is_unheard |= answer == APPROVAL_LATE;
    drop(q);
    box_asked(b);
    if (b->gate.egress)
        egress_answer(b->gate.egress, grant,
                      is_yes                    ? EGRESS_YES
                      : answer == APPROVAL_LATE ? EGRESS_LATER
                                                : EGRESS_NO);
}

static int begin_question(struct box *b, const char *grant, struct error *err)
{
    struct host_question *q = calloc(1, sizeof(*q));
    json_t *arguments = json_pack("{s:s}", "host", grant);
    uint8_t digest[SHA256_BYTES];

    sha256(grant, strlen(grant), digest);
    if (q)
        *q = (struct host_question){.box = b, .begun_ns = loop_now_ns()};
    if (q && arguments)
        q->approval = approval_new(&b->engine_outside->approvals, b->loop, b->run, APPROVAL_CONNECT,
                                   arguments, digest, LIMIT_NET_QUESTION_S, on_answer, q, err);
    json_decref(arguments);
    if (!q || !q->approval) {
        free(q);
        return error_memory(err);
    }
    q->approval->can_be_kept = b->run->origin.is_operator;
    (void)snprintf(q->grant, sizeof(q->grant), "%s", grant);
    q->next = b->gate.questions;
    b->gate.questions = q;
    b->gate.n_questions++;
    box_ask(b, q->approval);
    return 0;
}

enum egress_consent box_ask_host(void *user, const char *grant, const char **ret_why)
{
    struct box *b = user;

    if (!b->run || b->state != BOX_RUNNING || b->cell.state != CELL_SENT) {
        *ret_why = "the host is not granted, and no run is under way that could ask for it";
        return EGRESS_NO;
    }
    if (b->run->origin.is_operator && remembered_hosts_has(grant))
        return record(b, grant, "remembered", NULL, 0, NULL) < 0 ? EGRESS_NO : EGRESS_YES;
    if (!b->run->origin.can_ask)
        *ret_why = "the host is not granted, and nobody can be asked here";
    else if (b->gate.is_unheard)
        *ret_why = "the host is not granted, and an earlier question of this run was not answered "
                   "in time";
    else if (b->gate.n_questions == LIMIT_NET_QUESTIONS)
        *ret_why = "the host is not granted, and this run has asked for too many hosts";
    else if (begin_question(b, grant, NULL) == 0)
        return EGRESS_LATER;
    return EGRESS_NO;
}

void box_end_questions(struct box *b)
{
    while (b->gate.questions) {
        char grant[EGRESS_GRANT_TEXT];

        memcpy(grant, b->gate.questions->grant, sizeof(grant));
        drop(b->gate.questions);
        box_asked(b);
        b->gate.is_unheard = true; /* nobody is asked again on the way out */
        if (b->gate.egress)
            egress_answer(b->gate.egress, grant, EGRESS_LATER);
    }
    b->gate.is_unheard = false;
    b->gate.n_questions = 0;
}
