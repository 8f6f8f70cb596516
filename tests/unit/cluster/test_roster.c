#include "cluster/roster.h"

#include <stdio.h>

#include "unit.h"

static void lose(struct roster *roster, const char *name, uint64_t at)
{
    struct member member = {.heard_ns = at};

    (void)snprintf(member.beat.name, sizeof(member.beat.name), "%s", name);
    roster_add(roster, &member);
}

TEST(a_lost_node_is_known_until_it_is_back)
{
    static struct roster roster;

    lose(&roster, "a1", 1);
    lose(&roster, "b2", 2);
    lose(&roster, "a1", 3); /* again */
    assert_int_equal(roster.count, 2);
    assert_string_equal(roster.list[1].name, "a1");
    assert_true(roster.list[1].lost_ns == 3);
    roster_remove(&roster, "b2");
    roster_remove(&roster, "c3");
    assert_int_equal(roster.count, 1);
    roster_tidy(&roster, 3 + ROSTER_MAX_NS);
    assert_int_equal(roster.count, 1);
    roster_tidy(&roster, 4 + ROSTER_MAX_NS);
    assert_int_equal(roster.count, 0);
}

TEST(there_are_so_many_and_the_oldest_goes)
{
    static struct roster roster;
    char name[13];

    for (unsigned i = 0; i <= ROSTER_MAX; i++) {
        (void)snprintf(name, sizeof(name), "n%u", i);
        lose(&roster, name, i);
    }
    assert_int_equal(roster.count, ROSTER_MAX);
    assert_string_equal(roster.list[0].name, "n1");
}

UNIT_MAIN()
