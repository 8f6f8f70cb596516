#include "engine/memory_guard.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/meminfo.h"
#include "engine/box.h"
#include "engine/pool.h"

/* Less than this part of all memory, or this much, is too little. */
#define SPARE_PART  6
#define SPARE_BYTES (256 * MIB)

/* A sandbox that has less than this part is not what the memory went to. */
#define GREEDY_PART 8

/* Nothing fills memory faster than this, in bytes per millisecond. */
#define PACE (4 * MIB)

#define LOOK_LEAST_MS 10
#define LOOK_MOST_MS  1000

/* An ended sandbox takes a while to be gone. */
#define PATIENCE_MS 300

struct memory_guard {
    struct cgroup_host *cgroups;
    const struct pool *pool;
    struct loop_watch *timer;
};

/* Of the host or of the group that we are in, whichever has less left. */
static bool read_level(const struct memory_guard *guard, uint64_t *ret_total, uint64_t *ret_free)
{
    uint64_t total, left;
    struct meminfo m;

    if (!meminfo_read(&m))
        return false;
    *ret_total = m.total_bytes;
    *ret_free = m.available_bytes;
    if (cgroup_host_left(guard->cgroups, &total, &left) && left < *ret_free) {
        *ret_total = total;
        *ret_free = left;
    }
    return true;
}

struct greedy {
    struct box *box; /* with the most so far, or NULL */
    uint64_t bytes;
};

static void weigh(void *user, struct box *box)
{
    struct greedy *greedy = user;
    uint64_t bytes = box_state(box) == BOX_ENDING ? 0 : box_memory(box);

    if (bytes > greedy->bytes)
        *greedy = (struct greedy){box, bytes};
}

static struct box *find_greedy(const struct memory_guard *guard, uint64_t total)
{
    struct greedy greedy = {.bytes = total / GREEDY_PART};

    pool_each_box(guard->pool, weigh, &greedy);
    return greedy.box;
}

static void on_look(void *arg)
{
    struct memory_guard *guard = arg;
    uint64_t total = 0, left = 0, wait_ms = LOOK_MOST_MS, spare;
    struct box *greedy;

    if (read_level(guard, &total, &left)) {
        spare = total / SPARE_PART < SPARE_BYTES ? total / SPARE_PART : SPARE_BYTES;
        wait_ms = left > spare ? (left - spare) / PACE : 0;
        greedy = left < spare ? find_greedy(guard, total) : NULL;
        if (greedy) {
            LOG_EVENT(LOG_WARNING, "memory",
                      {"message", "memory is short: the sandbox that holds the most is ended"},
                      {"sandbox_bytes", .number = (double)box_memory(greedy)},
                      {"free_bytes", .number = (double)left});
            box_sacrifice(greedy);
            wait_ms = PATIENCE_MS;
        }
    }
    if (wait_ms < LOOK_LEAST_MS)
        wait_ms = LOOK_LEAST_MS;
    loop_timer_start(guard->timer, wait_ms < LOOK_MOST_MS ? wait_ms : LOOK_MOST_MS);
}

int memory_guard_new(struct loop *loop, struct cgroup_host *cgroups, const struct pool *pool,
                     struct memory_guard **ret_guard, struct error *err)
{
    struct memory_guard *guard = calloc(1, sizeof(*guard));

    if (!guard)
        return error_memory(err);
    guard->cgroups = cgroups;
    guard->pool = pool;
    guard->timer = loop_timer(loop, on_look, guard);
    if (!guard->timer) {
        free(guard);
        return error_memory(err);
    }
    loop_timer_start(guard->timer, 0);
    *ret_guard = guard;
    return 0;
}

void memory_guard_free(struct memory_guard *guard)
{
    if (!guard)
        return;
    loop_watch_free(guard->timer);
    free(guard);
}
