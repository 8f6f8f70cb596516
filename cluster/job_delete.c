/* Removes what the bus has of a job, message by message. One request of JetStream could remove all
 * of them (STREAM.PURGE), but nats-server 2.9 does it again when it starts, without the filter: a
 * server that was restarted and becomes the leader then has lost the whole stream.
 *
 * Homes go first: a job without its first one is taken by nobody. What is left of one whose node
 * ends in between expires with the stream.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cluster/job_internal.h"

#define INFO_SUBJECT   "$JS.API.STREAM.INFO." JOB_STREAM
#define GET_SUBJECT    "$JS.API.STREAM.MSG.GET." JOB_STREAM
#define DELETE_SUBJECT "$JS.API.STREAM.MSG.DELETE." JOB_STREAM

static void delete_next(struct job_work *w);

static void finish(struct job_work *w, enum job_put put)
{
    json_decref(take_ptr(w->places));
    w->put = put;
    w->after(w);
}

static void ask(struct job_work *w, const char *subject, const char *question, job_bus_fn fn)
{
    if (job_bus_ask(w->keep->bus, w->keep->node->bus, subject, question, strlen(question), fn, w) <
        0)
        finish(w, PUT_FAILED);
}

/* Of the server: it does not have the stream, for the moment. */
#define NO_STREAM 10059

/* An error says that it is not there any more, or that nobody can tell now. */
static void on_deleted(void *user, const json_t *answer)
{
    struct job_work *w = user;
    const json_t *error = json_object_get(answer, "error");

    if (!answer || json_integer_value(json_object_get(error, "code")) == 503 ||
        json_integer_value(json_object_get(error, "err_code")) == NO_STREAM) {
        finish(w, PUT_FAILED);
        return;
    }
    w->place_at++;
    delete_next(w);
}

static void delete_message(struct job_work *w, json_int_t sequence)
{
    char question[64];

    (void)snprintf(question, sizeof(question), "{\"seq\":%lld}", (long long)sequence);
    ask(w, DELETE_SUBJECT, question, on_deleted);
}

static void on_message(void *user, const json_t *answer)
{
    struct job_work *w = user;
    json_int_t sequence =
        json_integer_value(json_object_get(json_object_get(answer, "message"), "seq"));

    if (sequence > 0)
        delete_message(w, sequence);
    else
        on_deleted(w, answer);
}

/* Where the number of a message is not known, it is asked for. */
static void delete_next(struct job_work *w)
{
    const json_t *place = json_array_get(w->places, w->place_at);
    char question[CLUSTER_SUBJECT_MAX + 32];

    if (!place) {
        finish(w, PUT_DONE);
    } else if (json_is_integer(place)) {
        delete_message(w, json_integer_value(place));
    } else {
        (void)snprintf(question, sizeof(question), "{\"last_by_subj\":\"%s\"}",
                       json_string_value(place));
        ask(w, GET_SUBJECT, question, on_message);
    }
}

static void add_places(json_t *places, const json_t *subjects, bool are_homes)
{
    struct job_place place;
    const char *subject;
    json_t *count;

    json_object_foreach((json_t *)subjects, subject, count)
    {
        if (job_place_read(subject, &place) && (place.kind == 'h') == are_homes)
            (void)json_array_append_new(places, json_string(subject));
    }
}

static void on_listed(void *user, const json_t *answer)
{
    struct job_work *w = user;
    const json_t *state = json_object_get(answer, "state");

    w->places = state ? json_array() : NULL;
    if (!w->places) {
        finish(w, PUT_FAILED);
        return;
    }
    add_places(w->places, json_object_get(state, "subjects"), true);
    add_places(w->places, json_object_get(state, "subjects"), false);
    w->place_at = 0;
    delete_next(w);
}

static void delete_numbers(struct job_work *w, const uint64_t *numbers, size_t count)
{
    w->places = json_array();
    for (size_t i = 0; w->places && i < count; i++)
        (void)json_array_append_new(w->places, json_integer((json_int_t)numbers[i]));
    w->place_at = 0;
    delete_next(w);
}

void job_work_delete_last(struct job_work *w, void (*next)(struct job_work *w))
{
    w->after = next;
    delete_numbers(w, &w->sequence, w->sequence > 0);
}

void job_work_delete(struct job_work *w, void (*next)(struct job_work *w))
{
    char question[CLUSTER_SUBJECT_MAX + 32];

    w->after = next;
    (void)snprintf(question, sizeof(question), "{\"subjects_filter\":\"" JOB_SUBJECTS "%s.>\"}",
                   w->id);
    ask(w, INFO_SUBJECT, question, on_listed);
}

void job_work_delete_request(struct job_work *w, void (*next)(struct job_work *w))
{
    struct kept_job *job = w->job;
    char question[CLUSTER_SUBJECT_MAX + 32];

    w->after = next;
    if (job->n_pieces) { /* this node has put them there */
        delete_numbers(w, job->pieces, job->n_pieces);
        job->n_pieces = 0;
        return;
    }
    (void)snprintf(question, sizeof(question), "{\"subjects_filter\":\"" JOB_SUBJECTS "%s.q.>\"}",
                   w->id);
    ask(w, INFO_SUBJECT, question, on_listed);
}
