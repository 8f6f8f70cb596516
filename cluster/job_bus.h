/* Questions to JetStream on the loop, about jobs (job_keep.c) and about skills and states
 * (store_link.c): each is a request of NATS whose answer is JSON and comes to a subject of this
 * node alone, so it cannot hear those of others. libnats's own calls would wait. */
#pragma once

#include <jansson.h>

#include "cluster/bus.h"

/* Where answers come: "belljar.v1.jobs.node.NAME.NUMBER". */
#define JOB_BUS_ANSWERS CLUSTER_SUBJECTS ".jobs.node."

struct job_bus;

/* `answer` is NULL where none came in time, or nobody listens there. */
typedef void (*job_bus_fn)(void *user, const json_t *answer);

/* Answers come to "ANSWERS" "NODE" ".NUMBER". NULL: out of memory. */
struct job_bus *job_bus_new(const char *answers, const char *node);
void job_bus_free(struct job_bus *jobs);

/* To subscribe to. */
const char *job_bus_subject(const struct job_bus *jobs);

/* `fn` follows from the loop, always. -1: out of memory, and it does not. */
int job_bus_ask(struct job_bus *jobs, struct bus *bus, const char *subject, const void *data,
                size_t len, job_bus_fn fn, void *user);

/* Asks JetStream to store data, only over the message of that sequence; 0: over none. */
int job_bus_swap(struct job_bus *jobs, struct bus *bus, const char *subject, const void *data,
                 size_t len, uint64_t after, job_bus_fn fn, void *user);

/* In `fn` without an answer: whether the server has said that nobody listens there. */
bool job_bus_is_deserted(const struct job_bus *jobs);

/* True: the message was an answer. */
bool job_bus_take(struct job_bus *jobs, const struct bus_message *message);

/* Now and then: those that were not answered. */
void job_bus_tick(struct job_bus *jobs);
