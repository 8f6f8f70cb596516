/* Those who wait for a machine that does not start. What the machine is given is in this file, and
 * cannot be had. */
#include <sys/queue.h>

#include "base/cleanup.h"
#include "unit.h"
#include "vm/check.h"
#include "vm/grants.h"
#include "vm/keeper.h"

int machine_check(bool is_emulated, struct error *err)
{
    (void)is_emulated;
    (void)err;
    return 0;
}

int machine_parts(bool is_emulated, struct machine_part parts[MACHINE_PARTS_MAX], size_t *ret_count,
                  struct error *err)
{
    (void)is_emulated;
    (void)parts;
    (void)ret_count;
    return error_memory(err);
}

int vm_grants_check_setting(const struct config *config, struct error *err)
{
    (void)config;
    (void)err;
    return 0;
}

int vm_grants_open(const struct config *config, const struct ns_ids *ids,
                   struct vm_grants **ret_grants, struct error *err)
{
    (void)config;
    (void)ids;
    (void)ret_grants;
    return error_set(err, E_SYSTEM, "nothing can be granted");
}

void vm_grants_free(struct vm_grants *grants)
{
    (void)grants;
}

size_t vm_grants_count(const struct vm_grants *grants)
{
    (void)grants;
    return 0;
}

const char *vm_grants_path(const struct vm_grants *grants, size_t index)
{
    (void)grants;
    (void)index;
    return NULL;
}

const char *vm_grants_hidden(const struct vm_grants *grants, size_t index)
{
    (void)grants;
    (void)index;
    return NULL;
}

int vm_grants_fd(const struct vm_grants *grants, size_t index)
{
    (void)grants;
    (void)index;
    return -1;
}

void vm_grants_close_mounts(struct vm_grants *grants)
{
    (void)grants;
}

int vm_grants_setting(const struct vm_grants *grants, struct buf *out, struct error *err)
{
    (void)grants;
    (void)out;
    return error_memory(err);
}

int vm_grants_check(const struct vm_grants *grants, const struct run_terms *terms,
                    struct error *err)
{
    (void)grants;
    (void)terms;
    (void)err;
    return 0;
}

/* --- tests --- */

struct visitor {
    struct keeper_guest guest; /* the first member */
    struct visitor *takes_along, *brings;
    int order; /* of those who were told; 0: nobody told it anything */
};

static struct loop *loop;
static struct keeper *keeper;
static int n_told, n_wanted;

static void on_connection(struct keeper_guest *guest, int fd, const struct error *err)
{
    struct visitor *visitor = (struct visitor *)guest;

    assert_int_equal(fd, -1);
    assert_int_equal(err->code, E_UNSUPPORTED);
    assert_false(guest->is_waiting);
    visitor->order = ++n_told;
    if (visitor->takes_along)
        keeper_leave(keeper, &visitor->takes_along->guest);
    if (visitor->brings)
        keeper_ask(keeper, &visitor->brings->guest);
    if (n_told == n_wanted)
        loop_stop(loop);
}

static void on_late(void *arg)
{
    (void)arg;
    loop_stop(loop);
}

static void begin(struct config *config)
{
    cleanup_error struct error err = {0};

    config->machine = "tcg";
    loop = loop_new(NULL);
    assert_int_equal(keeper_new(loop, config, NULL, &keeper, &err), 0);
    n_told = 0;
}

static void run_until(int wanted)
{
    struct loop_watch *timer = loop_timer(loop, on_late, NULL);

    n_wanted = wanted;
    loop_timer_start(timer, 5000);
    assert_int_equal(loop_run(loop, NULL), 0);
    loop_watch_free(timer);
}

TEST(one_who_is_refused_may_take_others_along)
{
    struct visitor visitors[5] = {0};
    struct config config = {0};

    begin(&config);
    for (size_t i = 0; i < ARRAY_SIZE(visitors); i++)
        visitors[i].guest.on_connection = on_connection;
    visitors[0].takes_along = &visitors[2]; /* the last of the list */
    for (size_t i = 0; i < 3; i++)
        keeper_ask(keeper, &visitors[i].guest);
    run_until(2);
    assert_int_equal(visitors[0].order, 1);
    assert_int_equal(visitors[1].order, 2);
    assert_int_equal(visitors[2].order, 0);
    visitors[3].brings = &visitors[4];
    keeper_ask(keeper, &visitors[3].guest);
    run_until(4);
    assert_int_equal(visitors[3].order, 3);
    assert_int_equal(visitors[4].order, 4);
    keeper_free(keeper);
    loop_free(loop);
}

UNIT_MAIN()
