#include "admit/quota.h"

#include <stddef.h>

#define MINUTE_S 60.0
#define HOUR_S   3600.0

/* Longer than anybody waits. */
#define WAIT_MAX_S 3600.0

static void flow_back(struct quota_bucket *bucket, double limit, double period_s, uint64_t now_ns)
{
    double passed_s = (double)(now_ns - bucket->at_ns) / 1e9;

    bucket->at_ns = now_ns;
    bucket->used -= passed_s * limit / period_s;
    if (bucket->used < 0)
        bucket->used = 0;
}

/* Seconds until so much more may be used; 0: now. */
static double wait_for(struct quota_bucket *bucket, double limit, double period_s, double amount,
                       uint64_t now_ns)
{
    double over;

    if (limit < 0)
        return 0;
    flow_back(bucket, limit, period_s, now_ns);
    over = bucket->used + amount - limit;
    return over > 1e-6 ? over * period_s / limit : 0;
}

static void add_used(json_t *object, const char *name, struct quota_bucket *bucket, double limit,
                     double period_s, uint64_t now_ns)
{
    if (limit < 0)
        return;
    flow_back(bucket, limit, period_s, now_ns);
    (void)json_object_set_new(object, name, json_real(bucket->used));
}

json_t *quota_used(struct caller *caller, uint64_t now_ns)
{
    const struct rights *r = &caller->rights;
    json_t *object = json_object();

    add_used(object, "runs_per_minute", &caller->runs, r->runs_per_minute, MINUTE_S, now_ns);
    add_used(object, "cpu_s_per_hour", &caller->cpu_s, r->cpu_s_per_hour, HOUR_S, now_ns);
    add_used(object, "bytes_per_hour", &caller->bytes, r->bytes_per_hour, HOUR_S, now_ns);
    return object;
}

static int refuse(const char *what, double wait_s, unsigned *ret_wait_s, struct error *err)
{
    *ret_wait_s = (unsigned)(wait_s < WAIT_MAX_S ? wait_s : WAIT_MAX_S) + 1;
    error_set(err, E_BUSY, "this token has used up its %s", what);
    return error_hint(err, "try again in %u seconds", *ret_wait_s);
}

static bool is_overdrawn(struct quota_bucket *bucket, double limit, uint64_t now_ns)
{
    if (limit < 0)
        return false;
    flow_back(bucket, limit, HOUR_S, now_ns);
    return bucket->used > 2 * limit;
}

bool quota_is_overdrawn(struct caller *caller, uint64_t now_ns)
{
    return is_overdrawn(&caller->cpu_s, caller->rights.cpu_s_per_hour, now_ns) ||
           is_overdrawn(&caller->bytes, caller->rights.bytes_per_hour, now_ns);
}

static double trail_limit(const struct caller *caller)
{
    return caller->trail_bytes_per_hour > 0 ? caller->trail_bytes_per_hour : -1;
}

int quota_check_bytes(struct caller *caller, uint64_t now_ns, unsigned *ret_wait_s,
                      struct error *err)
{
    double wait_s = wait_for(&caller->trail, trail_limit(caller), HOUR_S, 1, now_ns);

    if (wait_s > 0)
        return refuse("room in the audit trail (`trail_mb_per_hour`)", wait_s, ret_wait_s, err);
    wait_s = wait_for(&caller->bytes, caller->rights.bytes_per_hour, HOUR_S, 1, now_ns);
    return wait_s > 0 ? refuse("bytes (`bytes_per_hour`)", wait_s, ret_wait_s, err) : 0;
}

int quota_take_run(struct caller *caller, uint64_t now_ns, unsigned *ret_wait_s, struct error *err)
{
    const struct rights *r = &caller->rights;
    double wait_s;

    /* A little is asked for, so that nothing left means nothing new. */
    wait_s = wait_for(&caller->cpu_s, r->cpu_s_per_hour, HOUR_S, 1e-3, now_ns);
    if (wait_s > 0)
        return refuse("CPU time (`cpu_s_per_hour`)", wait_s, ret_wait_s, err);
    if (quota_check_bytes(caller, now_ns, ret_wait_s, err) < 0)
        return -1;
    wait_s = wait_for(&caller->runs, r->runs_per_minute, MINUTE_S, 1, now_ns);
    if (wait_s > 0)
        return refuse("runs (`runs_per_minute`)", wait_s, ret_wait_s, err);
    caller->runs.used += r->runs_per_minute >= 0;
    caller->runs.spent += r->runs_per_minute >= 0;
    return 0;
}

static void spend(struct quota_bucket *bucket, double limit, double amount, uint64_t now_ns)
{
    if (limit < 0)
        return;
    flow_back(bucket, limit, HOUR_S, now_ns);
    bucket->used += amount;
    bucket->spent += amount;
}

void quota_spend(struct caller *caller, uint64_t now_ns, double cpu_s, double bytes)
{
    spend(&caller->cpu_s, caller->rights.cpu_s_per_hour, cpu_s, now_ns);
    spend(&caller->bytes, caller->rights.bytes_per_hour, bytes, now_ns);
}

bool quota_spent(const struct caller *caller, double ret_amounts[QUOTA_ALLOWANCES])
{
    ret_amounts[0] = caller->runs.spent;
    ret_amounts[1] = caller->cpu_s.spent;
    ret_amounts[2] = caller->bytes.spent;
    return ret_amounts[0] > 0 || ret_amounts[1] > 0 || ret_amounts[2] > 0;
}

/* A machine that says nonsense shuts a token out for as long as it says it, and not for ever. */
static void add(struct quota_bucket *bucket, double limit, double period_s, double amount,
                uint64_t now_ns)
{
    if (limit < 0 || amount <= 0)
        return;
    flow_back(bucket, limit, period_s, now_ns);
    if (bucket->used < 2 * limit)
        bucket->used = bucket->used + amount < 2 * limit ? bucket->used + amount : 2 * limit;
}

void quota_add(struct caller *caller, uint64_t now_ns, const double amounts[QUOTA_ALLOWANCES])
{
    const struct rights *r = &caller->rights;

    add(&caller->runs, r->runs_per_minute, MINUTE_S, amounts[0], now_ns);
    add(&caller->cpu_s, r->cpu_s_per_hour, HOUR_S, amounts[1], now_ns);
    add(&caller->bytes, r->bytes_per_hour, HOUR_S, amounts[2], now_ns);
}

void quota_spend_trail(struct caller *caller, uint64_t now_ns, double bytes)
{
    spend(&caller->trail, trail_limit(caller), bytes, now_ns);
}
