/* The order in which names are resolved: against a resolver of our own, for which some names take
 * forever.
 */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/resolve.h"
#include "sandbox/files.h"

static char place[64], program[96];
static struct loop *loop;
static struct resolver *resolver;
static unsigned n_slow;     /* answers for names that take forever */
static unsigned n_left;     /* answers that are waited for */
static char order[64];      /* whose answers came, in order */
static const int owners[8]; /* their addresses are what counts */
static const void *group;   /* of slow names, or NULL */

/* A name that takes forever says so by a file, so that a test can see that it was begun. */
static int setup(void **state)
{
    static const char script[] = "#!/bin/sh\n"
                                 "case $1 in slow*) : >\"${0%/*}/$1\"; exec sleep 600;; "
                                 "none) exit 1;; wrong) echo nonsense;; esac\n"
                                 "echo 192.0.2.1\n";
    cleanup_close int fd = -1;

    (void)state;
    (void)snprintf(place, sizeof(place), "/tmp/belljar-resolve.XXXXXX");
    if (!mkdtemp(place))
        return -1;
    (void)snprintf(program, sizeof(program), "%s/resolver", place);
    fd = open(program, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    if (fd < 0 || write(fd, script, sizeof(script) - 1) != (ssize_t)sizeof(script) - 1)
        return -1;
    loop = loop_new(NULL);
    n_slow = n_left = 0;
    group = NULL;
    order[0] = '\0';
    resolver = loop ? resolver_new(loop, program, NULL) : NULL;
    return resolver ? 0 : -1;
}

static int teardown(void **state)
{
    cleanup_close int fd = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct files top = {.fd = fd, .uid = geteuid(), .gid = getegid()};

    (void)state;
    resolver_free(resolver);
    loop_free(loop);
    return files_delete(&top, strrchr(place, '/') + 1, true, NULL);
}

static void on_slow(void *user, const struct address *addresses, size_t count, const char *why)
{
    (void)user;
    (void)addresses;
    (void)count;
    (void)why;
    n_slow++;
}

static void on_fast(void *user, const struct address *addresses, size_t count, const char *why)
{
    size_t len = strlen(order);

    (void)addresses;
    assert_int_equal(count, 1);
    assert_null(why);
    assert_true(len + 1 < sizeof(order));
    order[len] = *(const char *)user;
    order[len + 1] = '\0';
    if (--n_left == 0)
        loop_stop(loop);
}

static void ask_slow(size_t owner, struct lookup **lookups, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char name[32];

        (void)snprintf(name, sizeof(name), "slow-%zu-%zu", owner, i);
        lookups[i] = resolve_start(resolver, &owners[owner], group, name, on_slow, NULL);
        assert_non_null(lookups[i]);
    }
}

static void ask_fast(size_t owner, const char *letter)
{
    assert_non_null(resolve_start(resolver, &owners[owner], NULL, "fast", on_fast, (void *)letter));
    n_left++;
}

static size_t count_begun(size_t owner, size_t count)
{
    size_t begun = 0;

    for (size_t i = 0; i < count; i++) {
        char path[128];

        (void)snprintf(path, sizeof(path), "%s/slow-%zu-%zu", place, owner, i);
        begun += access(path, F_OK) == 0;
    }
    return begun;
}

static struct loop_watch *look;
static size_t wanted, n_owners;

static void on_look(void *arg)
{
    size_t begun = 0;

    (void)arg;
    for (size_t i = 0; i < n_owners; i++)
        begun += count_begun(i, 60);
    if (begun >= wanted)
        loop_stop(loop);
    else
        loop_timer_start(look, 10);
}

/* Until so many of the first owners' slow names are being looked up. */
static void wait_for_begun(size_t owners_count, size_t count)
{
    n_owners = owners_count;
    wanted = count;
    look = loop_timer(loop, on_look, NULL);
    assert_non_null(look);
    loop_timer_start(look, 0);
    assert_int_equal(loop_run(loop, NULL), 0);
    loop_watch_free(look);
}

TEST_WITH(a_sandbox_that_asks_without_end_keeps_nobody_waiting, setup, teardown)
{
    struct lookup *slow[60];

    ask_slow(0, slow, ARRAY_SIZE(slow));
    wait_for_begun(1, LIMIT_NET_LOOKUPS_EACH);
    ask_fast(1, "b");
    assert_int_equal(loop_run(loop, NULL), 0);
    assert_string_equal(order, "b");
    assert_int_equal(n_slow, 0);
    assert_int_equal(count_begun(0, ARRAY_SIZE(slow)), LIMIT_NET_LOOKUPS_EACH);
}

TEST_WITH(many_sandboxes_of_one_token_leave_places, setup, teardown)
{
    struct lookup *slow[4][10];

    group = &owners;
    for (size_t i = 0; i < ARRAY_SIZE(slow); i++)
        ask_slow(i, slow[i], ARRAY_SIZE(slow[i]));
    wait_for_begun(ARRAY_SIZE(slow), LIMIT_NET_LOOKUPS / 2);
    ask_fast(4, "e");
    assert_int_equal(loop_run(loop, NULL), 0);
    assert_string_equal(order, "e");
    assert_int_equal(n_slow, 0);
}

TEST_WITH(whoever_was_served_longest_ago_is_next, setup, teardown)
{
    struct lookup *slow[4][10];

    _Static_assert(ARRAY_SIZE(slow) * LIMIT_NET_LOOKUPS_EACH == LIMIT_NET_LOOKUPS,
                   "they fill all places");
    for (size_t i = 0; i < ARRAY_SIZE(slow); i++)
        ask_slow(i, slow[i], ARRAY_SIZE(slow[i]));
    wait_for_begun(ARRAY_SIZE(slow), LIMIT_NET_LOOKUPS);
    /* All places are taken; one comes free, and older wishes of the same owner wait for it, too. */
    ask_fast(4, "e");
    resolve_cancel(slow[0][0]);
    assert_int_equal(loop_run(loop, NULL), 0);
    assert_string_equal(order, "e");
    assert_int_equal(n_slow, 0);
}

TEST_WITH(a_wish_that_is_taken_back_lets_others_on, setup, teardown)
{
    struct lookup *slow[5];

    ask_slow(0, slow, ARRAY_SIZE(slow));
    for (size_t i = 0; i < ARRAY_SIZE(slow); i++)
        resolve_cancel(slow[i]); /* none has begun: the loop has not run */
    ask_fast(0, "a");
    ask_fast(0, "a");
    assert_int_equal(loop_run(loop, NULL), 0);
    assert_string_equal(order, "aa");
    assert_int_equal(count_begun(0, ARRAY_SIZE(slow)), 0);
}

TEST_WITH(many_of_many_are_all_answered, setup, teardown)
{
    for (size_t i = 0; i < 8; i++)
        for (size_t k = 0; k < 6; k++)
            ask_fast(i, "x");
    assert_int_equal(loop_run(loop, NULL), 0);
    assert_int_equal(strlen(order), 48);
}

static int wait_for(const char *text, struct address addresses[static RESOLVE_MAX],
                    size_t *ret_count, struct error *err)
{
    struct host host;

    assert_null(host_parse(text, strlen(text), true, &host));
    return resolve_wait(program, &host, addresses, ret_count, err);
}

TEST_WITH(a_command_waits_for_the_answer, setup, teardown)
{
    struct address addresses[RESOLVE_MAX];
    struct error err = {0};
    size_t count = 0;
    char text[ADDRESS_TEXT];

    assert_int_equal(wait_for("fast", addresses, &count, &err), 0);
    assert_int_equal(count, 1);
    address_text(&addresses[0], text);
    assert_string_equal(text, "192.0.2.1");
    assert_int_equal(wait_for("none", addresses, &count, &err), -1);
    assert_error(&err, E_NOT_FOUND, "there is no host `none`");
    assert_int_equal(wait_for("wrong", addresses, &count, &err), -1);
    assert_error(&err, E_NOT_FOUND, "there is no host `wrong`");
}

/* The resolver would say something else. */
TEST_WITH(addresses_and_localhost_are_not_looked_up, setup, teardown)
{
    struct address addresses[RESOLVE_MAX];
    size_t count = 0;

    assert_int_equal(wait_for("localhost", addresses, &count, NULL), 0);
    assert_int_equal(count, 2);
    assert_true(address_is_loopback(&addresses[0]) && address_is_loopback(&addresses[1]));
    assert_int_equal(wait_for("[2001:db8::7]", addresses, &count, NULL), 0);
    assert_int_equal(count, 1);
    assert_true(addresses[0].is_v6 && addresses[0].bytes[15] == 7);
}

UNIT_MAIN()
