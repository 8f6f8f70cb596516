#include "cluster/job_table.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/loop.h"
#include "base/span.h"
#include "cluster/route.h"

/* Homes of one job: each took it from one that was lost. */
#define HOMES_MAX 1000

/* --- names --- */

static bool is_id(struct span text)
{
    char node[13];

    return text.len < ID_SIZE && span_starts_with(text, "job_") && route_node_of(text, node);
}

/* ".12" and so on; the rest is behind it. */
static bool read_number(const char **at, uint64_t *ret_number)
{
    char *end;

    if (**at != '.' || !isdigit((unsigned char)(*at)[1]) || strnlen(*at + 1, 20) > 18)
        return false;
    *ret_number = strtoull(*at + 1, &end, 10);
    *at = end;
    return true;
}

bool job_place_read(const char *subject, struct job_place *ret_place)
{
    const char *at = subject + sizeof(JOB_SUBJECTS) - 1;
    struct job_place place = {0};
    uint64_t home;
    size_t len;

    if (strncmp(subject, JOB_SUBJECTS, sizeof(JOB_SUBJECTS) - 1) != 0)
        return false;
    len = strcspn(at, ".");
    if (!is_id((struct span){at, len}) || at[len] != '.' || !strchr("qhre", at[len + 1]) ||
        !at[len + 1])
        return false;
    memcpy(place.id, at, len);
    place.kind = at[len + 1];
    at += len + 2;
    if (!read_number(&at, &home) || !read_number(&at, &place.number) || *at || home < 1 ||
        home > HOMES_MAX)
        return false;
    place.home = (unsigned)home;
    *ret_place = place;
    return true;
}

void job_place_write(const struct job_place *place, char subject[CLUSTER_SUBJECT_MAX])
{
    (void)snprintf(subject, CLUSTER_SUBJECT_MAX, JOB_SUBJECTS "%s.%c.%u.%llu", place->id,
                   place->kind, place->home, (unsigned long long)place->number);
}

void job_id_of_path(const char *path, size_t len, char ret_id[ID_SIZE])
{
    static const char start[] = "/v1/jobs/";
    struct span rest = {path, len};

    ret_id[0] = '\0';
    if (!span_starts_with(rest, start))
        return;
    rest.data += sizeof(start) - 1;
    rest.len -= sizeof(start) - 1;
    rest.len = span_until(rest, "/");
    if (!is_id(rest))
        return;
    memcpy(ret_id, rest.data, rest.len);
    ret_id[rest.len] = '\0';
}

/* --- the table --- */

void job_table_init(struct job_table *table, uint64_t salt)
{
    memset(table->buckets, 0, sizeof(table->buckets));
    TAILQ_INIT(&table->list);
    table->salt = salt;
    table->count = 0;
}

void job_table_done(struct job_table *table)
{
    while (!TAILQ_EMPTY(&table->list))
        job_table_remove(table, TAILQ_FIRST(&table->list));
}

static uint64_t hash_of(const struct job_table *table, const char *id)
{
    uint64_t hash = UINT64_C(14695981039346656037) ^ table->salt;

    for (const char *at = id; *at; at++)
        hash = (hash ^ (unsigned char)*at) * UINT64_C(1099511628211);
    return hash ^ hash >> 32;
}

struct kept_job *job_table_find(const struct job_table *table, const char *id)
{
    struct kept_job *job;

    LIST_FOREACH(job, &table->buckets[hash_of(table, id) % JOB_BUCKETS], of_bucket)
        if (strcmp(job->id, id) == 0)
            break;
    return job;
}

struct kept_job *job_table_add(struct job_table *table, const char *id)
{
    struct kept_job *job = job_table_find(table, id);
    uint64_t hash = hash_of(table, id);

    if (job)
        return job;
    job = calloc(1, sizeof(*job));
    if (!job)
        return NULL;
    (void)snprintf(job->id, sizeof(job->id), "%s", id);
    job->last = 1;
    job->knows_home = route_node_of((struct span){id, strlen(id)}, job->home);
    LIST_INSERT_HEAD(&table->buckets[hash % JOB_BUCKETS], job, of_bucket);
    /* Nodes look at them in different orders. */
    if (hash & 1 << 16)
        TAILQ_INSERT_HEAD(&table->list, job, link);
    else
        TAILQ_INSERT_TAIL(&table->list, job, link);
    table->count++;
    return job;
}

void job_table_remove(struct job_table *table, struct kept_job *job)
{
    LIST_REMOVE(job, of_bucket);
    TAILQ_REMOVE(&table->list, job, link);
    table->count--;
    free(job);
}

void job_table_last(struct job_table *table, struct kept_job *job)
{
    TAILQ_REMOVE(&table->list, job, link);
    TAILQ_INSERT_TAIL(&table->list, job, link);
}

void job_table_see_homes(struct job_table *table, const json_t *subjects, unsigned look)
{
    struct job_place place;
    struct kept_job *job;
    const char *subject;
    json_t *count;

    json_object_foreach((json_t *)subjects, subject, count)
    {
        if (!job_place_read(subject, &place) || place.kind != 'h')
            continue;
        job = job_table_add(table, place.id);
        if (!job)
            continue;
        job->seen = look;
        if (place.home <= job->last)
            continue;
        job->last = place.home;
        job->moved_ns = loop_now_ns();
        job->knows_home = job->is_imported = job->is_over = job->is_fenced = false;
    }
}

void job_table_see_ends(struct job_table *table, const json_t *subjects)
{
    struct job_place place;
    struct kept_job *job;
    const char *subject;
    json_t *count;

    json_object_foreach((json_t *)subjects, subject, count)
    {
        job = job_place_read(subject, &place) && place.kind == 'e' ? job_table_find(table, place.id)
                                                                   : NULL;
        /* An end is brought by a home that goes on, so it is the last one's that counts. */
        if (!job || (job->has_end && job->end_home >= place.home))
            continue;
        job->has_end = true;
        job->end_home = place.home;
        job->expires_s = place.number;
    }
}

void job_table_sweep(struct job_table *table, unsigned look)
{
    struct kept_job *job, *next;

    for (job = TAILQ_FIRST(&table->list); job; job = next) {
        next = TAILQ_NEXT(job, link);
        if (job->seen != look && !job->work)
            job_table_remove(table, job);
    }
}
