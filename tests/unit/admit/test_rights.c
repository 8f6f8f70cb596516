#include "unit.h"

#include "admit/rights.h"
#include "base/cleanup.h"
#include "base/limits.h"

static const struct rights_bound *bound(const char *name)
{
    size_t count;
    const struct rights_bound *bounds = rights_bounds(&count);

    for (size_t i = 0; i < count; i++)
        if (strcmp(bounds[i].name, name) == 0)
            return &bounds[i];
    fail_msg("no bound %s", name);
    return NULL;
}

TEST(numbers_are_taken_within_their_range_only)
{
    static const char *const wrong[] = {"", "x", "1x", "0", "-1", "1.5", "nan", "inf", "1e99"};
    struct error err = {0};
    struct rights r;

    rights_init(&r);
    assert_int_equal(rights_set_text(&r, bound("max_runs"), "4", &err), 0);
    assert_true(r.max_runs == 4);
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        assert_true(rights_set_text(&r, bound("max_runs"), wrong[i], &err) < 0);
        assert_error(&err, E_INVALID, "`max_runs`: expected a whole number from 1 to 4096");
    }
    assert_true(r.max_runs == 4);
    assert_int_equal(rights_set_text(&r, bound("max_timeout_s"), "1.5", &err), 0);
    assert_int_equal(rights_set_text(&r, bound("max_sessions"), "0", &err), 0);
}

TEST(profiles_are_names_and_none_means_all)
{
    static const char *const wrong[] = {"", "a,", ",a", "../a", "a/b", "a b", ".a", "a\"b", "a\nb"};
    struct error err = {0};
    struct rights r;

    rights_init(&r);
    assert_true(rights_allow_profile(&r, "open"));
    assert_int_equal(rights_set_profiles(&r, "strict,my-own.2", &err), 0);
    assert_true(rights_allow_profile(&r, "strict"));
    assert_true(rights_allow_profile(&r, "my-own.2"));
    assert_false(rights_allow_profile(&r, "open"));
    assert_false(rights_allow_profile(&r, ""));
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        struct rights other;

        rights_init(&other);
        assert_true(rights_set_profiles(&other, wrong[i], &err) < 0);
        assert_error(&err, E_INVALID, "not the name of a profile");
    }
}

TEST(an_unknown_key_is_refused_by_name)
{
    json_t *one = json_integer(1), *none = json_array();
    struct error err = {0};
    struct rights r;

    rights_init(&r);
    assert_true(rights_set_json(&r, "max_runz", one, &err) < 0);
    assert_error(&err, E_INVALID, "unknown key `max_runz`");
    assert_true(rights_set_json(&r, "operator", one, &err) < 0);
    assert_error(&err, E_INVALID, "true or false");
    assert_true(rights_set_json(&r, "profiles", none, &err) < 0); /* not: all */
    assert_error(&err, E_INVALID, "a list of names");
    assert_true(rights_set_json(&r, "max_runs", none, &err) < 0);
    assert_error(&err, E_INVALID, "a whole number");
    json_decref(one);
    json_decref(none);
}

TEST(defaults_are_lowered_and_never_raised)
{
    struct run_limits l = {.timeout_ms = 30000,
                           .memory_bytes = 512 * MIB,
                           .processes = 64,
                           .disk_bytes = 64 * MIB,
                           .output_bytes = MIB};
    struct run_limits before = l;
    struct rights r;

    rights_init(&r);
    rights_lower(&r, &l);
    assert_memory_equal(&l, &before, sizeof(l));
    r.max_timeout_s = 2.5;
    r.max_memory_mb = 1024;
    r.max_cpus = 0.5;
    r.max_pids = 8;
    r.max_output_bytes = 1000;
    rights_lower(&r, &l);
    assert_int_equal(l.timeout_ms, 2500);
    assert_int_equal(l.memory_bytes, 512 * MIB);
    assert_int_equal(l.cpu_percent, 50); /* 0 was: all there are */
    assert_int_equal(l.processes, 8);
    assert_int_equal(l.disk_bytes, 64 * MIB);
    assert_int_equal(l.output_bytes, 1000);
}

UNIT_MAIN()
