#include "cli/doctor/doctor.h"
#include "unit.h"

#define ALL       ((1u << WIRE_LAYER_COUNT) - 1)
#define CGROUPS   ((uint32_t)(LAYER_CGROUP_V1 | LAYER_CGROUP_V2))
#define GRADE(on) doctor_grade_name(doctor_grade(true, (on)))

TEST(every_layer_has_one_row)
{
    size_t count;
    const struct doctor_layer *layers = doctor_layers(&count);
    uint32_t seen = 0;

    for (size_t i = 0; i < count; i++) {
        assert_int_equal(seen & layers[i].any, 0);
        seen |= layers[i].any;
        assert_true(strlen(layers[i].protects) > 0 && strlen(layers[i].improve) > 0);
        /* A layer that costs nothing, or that alone means nothing runs, would be a mistake of the
         * table. */
        assert_in_range(layers[i].without, DOCTOR_B, DOCTOR_D);
    }
    assert_int_equal(seen, ALL);
}

TEST(all_layers_and_either_cgroup_make_an_a)
{
    assert_string_equal(GRADE(ALL), "A");
    assert_string_equal(GRADE(ALL & ~(uint32_t)LAYER_CGROUP_V1), "A");
    assert_string_equal(GRADE(ALL & ~(uint32_t)LAYER_CGROUP_V2), "A");
}

TEST(a_missing_second_opinion_makes_a_b)
{
    assert_string_equal(GRADE(ALL & ~(uint32_t)LAYER_LANDLOCK), "B");
    assert_string_equal(GRADE(ALL & ~(uint32_t)LAYER_TIME_NS), "B");
    assert_string_equal(GRADE(ALL & ~(uint32_t)(LAYER_LANDLOCK | LAYER_TIME_NS)), "B");
}

TEST(no_cgroup_makes_a_c)
{
    assert_string_equal(GRADE(ALL & ~CGROUPS), "C");
    assert_string_equal(GRADE(ALL & ~CGROUPS & ~(uint32_t)LAYER_LANDLOCK), "C");
}

TEST(a_missing_wall_makes_a_d)
{
    static const uint32_t walls[] = {LAYER_USER_NS,      LAYER_MOUNT_NS, LAYER_PID_NS, LAYER_NET_NS,
                                     LAYER_IPC_NS,       LAYER_ROOT,     LAYER_PROC,   LAYER_CAPS,
                                     LAYER_NO_NEW_PRIVS, LAYER_SECCOMP};

    for (size_t i = 0; i < sizeof(walls) / sizeof(walls[0]); i++) {
        assert_string_equal(GRADE(ALL & ~walls[i]), "D");
        assert_string_equal(GRADE(ALL & ~walls[i] & ~CGROUPS), "D");
    }
    assert_string_equal(GRADE(0), "D");
}

TEST(a_host_where_nothing_ran_gets_an_f)
{
    assert_string_equal(doctor_grade_name(doctor_grade(false, ALL)), "F");
    assert_string_equal(doctor_grade_name(doctor_grade(false, 0)), "F");
}

static const struct doctor_layer *row_of(uint32_t layer)
{
    size_t count;
    const struct doctor_layer *layers = doctor_layers(&count);

    for (size_t i = 0; i < count; i++)
        if (layers[i].any & layer)
            return &layers[i];
    fail_msg("no row for layer %#x", layer);
    return NULL;
}

TEST(a_layer_is_called_as_in_results)
{
    assert_string_equal(doctor_layer_name(row_of(LAYER_SECCOMP), ALL), "seccomp");
    assert_string_equal(doctor_layer_name(row_of(LAYER_SECCOMP), 0), "seccomp");
    assert_string_equal(doctor_layer_name(row_of(LAYER_CGROUP_V1), LAYER_CGROUP_V1), "cgroup-v1");
    assert_string_equal(doctor_layer_name(row_of(LAYER_CGROUP_V1), LAYER_CGROUP_V2), "cgroup-v2");
    assert_string_equal(doctor_layer_name(row_of(LAYER_CGROUP_V1), 0), "cgroup");
}

TEST(each_switch_against_user_namespaces_has_its_remedy_and_none_is_switched_for_all)
{
    struct doctor_host host = {.uid = 1000,
                               .max_user_namespaces = 1000,
                               .unprivileged_userns_clone = DOCTOR_ABSENT,
                               .apparmor_restricts_userns = DOCTOR_ABSENT};

    assert_null(doctor_host_improve_userns(&host));
    host.apparmor_restricts_userns = 1;
    assert_contains(doctor_host_improve_userns(&host), "/etc/apparmor.d/belljar");
    assert_null(strstr(doctor_host_improve_userns(&host), "sysctl"));
    host.unprivileged_userns_clone = 0;
    assert_contains(doctor_host_improve_userns(&host), "sudo belljar serve");
    assert_null(strstr(doctor_host_improve_userns(&host), "sysctl"));
    host.uid = 0; /* root is not meant by these */
    assert_null(doctor_host_improve_userns(&host));
    host.max_user_namespaces = 0;
    assert_contains(doctor_host_improve_userns(&host), "max_user_namespaces");
    assert_null(strstr(doctor_host_improve_userns(&host), "sysctl"));
}

UNIT_MAIN()
