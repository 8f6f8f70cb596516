#include "cluster/job_bus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/span.h"
#include "cluster/cluster.h"

/* While servers choose a leader there is no answer for seconds. */
#define WAIT_NS UINT64_C(3000000000)

/* The names of all places of many jobs. */
#define ANSWER_BYTES (16 * MIB)

struct ask {
    TAILQ_ENTRY(ask) link;
    uint64_t number, until_ns;
    job_bus_fn fn;
    void *user;
};

struct job_bus {
    char subject[CLUSTER_SUBJECT_MAX];
    size_t prefix; /* bytes of it before the `*` */
    uint64_t last;
    bool is_deserted;       /* of the question that is being answered */
    TAILQ_HEAD(, ask) asks; /* the oldest first */
};

struct job_bus *job_bus_new(const char *answers, const char *node)
{
    struct job_bus *jobs = calloc(1, sizeof(*jobs));

    if (!jobs)
        return NULL;
    jobs->prefix = (size_t)snprintf(jobs->subject, sizeof(jobs->subject), "%s%s.", answers, node);
    jobs->subject[jobs->prefix] = '*';
    TAILQ_INIT(&jobs->asks);
    return jobs;
}

void job_bus_free(struct job_bus *jobs)
{
    struct ask *a;

    if (!jobs)
        return;
    while ((a = TAILQ_FIRST(&jobs->asks)) != NULL) {
        TAILQ_REMOVE(&jobs->asks, a, link);
        free(a);
    }
    free(jobs);
}

const char *job_bus_subject(const struct job_bus *jobs)
{
    return jobs->subject;
}

static int ask(struct job_bus *jobs, struct bus *bus, const char *subject, const struct span *data,
               const uint64_t *after, job_bus_fn fn, void *user)
{
    struct ask *a = calloc(1, sizeof(*a));
    struct packet *packet = a ? packet_copy(data->data, data->len) : NULL;
    char reply[CLUSTER_SUBJECT_MAX];

    if (!packet) {
        free(a);
        return -1;
    }
    *a = (struct ask){
        .number = ++jobs->last, .until_ns = loop_now_ns() + WAIT_NS, .fn = fn, .user = user};
    (void)snprintf(reply, sizeof(reply), "%.*s%llu", (int)jobs->prefix, jobs->subject,
                   (unsigned long long)a->number);
    TAILQ_INSERT_TAIL(&jobs->asks, a, link);
    if (after)
        bus_send_after(bus, subject, reply, packet, *after);
    else
        bus_send(bus, subject, reply, packet);
    packet_unref(packet);
    return 0;
}

int job_bus_ask(struct job_bus *jobs, struct bus *bus, const char *subject, const void *data,
                size_t len, job_bus_fn fn, void *user)
{
    return ask(jobs, bus, subject, &(struct span){data, len}, NULL, fn, user);
}

int job_bus_swap(struct job_bus *jobs, struct bus *bus, const char *subject, const void *data,
                 size_t len, uint64_t after, job_bus_fn fn, void *user)
{
    return ask(jobs, bus, subject, &(struct span){data, len}, &after, fn, user);
}

bool job_bus_is_deserted(const struct job_bus *jobs)
{
    return jobs->is_deserted;
}

static void end(struct job_bus *jobs, struct ask *a, bool is_deserted, const json_t *answer)
{
    job_bus_fn fn = a->fn;
    void *user = a->user;

    TAILQ_REMOVE(&jobs->asks, a, link);
    free(a);
    jobs->is_deserted = is_deserted;
    fn(user, answer);
}

bool job_bus_take(struct job_bus *jobs, const struct bus_message *message)
{
    static const struct json_text_limits limits = {
        .bytes = ANSWER_BYTES, .depth = 8, .allows_many = true};
    cleanup_json json_t *answer = NULL;
    struct ask *a;
    uint64_t number;

    if (strncmp(message->subject, jobs->subject, jobs->prefix) != 0)
        return false;
    number = strtoull(message->subject + jobs->prefix, NULL, 10);
    TAILQ_FOREACH(a, &jobs->asks, link)
        if (a->number == number)
            break;
    if (!a)
        return true;
    if (!message->has_no_responders)
        (void)json_text_load(message->data, message->len, &limits, &answer, NULL);
    end(jobs, a, message->has_no_responders, answer);
    return true;
}

void job_bus_tick(struct job_bus *jobs)
{
    uint64_t now = loop_now_ns();
    struct ask *a;

    while ((a = TAILQ_FIRST(&jobs->asks)) != NULL && now > a->until_ns)
        end(jobs, a, false, NULL);
}
