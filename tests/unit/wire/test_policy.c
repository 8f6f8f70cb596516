#include "unit.h"

#include "wire/policy.h"

static struct span text(const char *s)
{
    return (struct span){s, strlen(s)};
}

static const struct policy_row rows[] = {
    {POLICY_IMPORT_ALLOW, {"numpy", 5}, {"", 0}},
    {POLICY_IMPORT_FROM, {"io", 2}, {"StringIO", 8}},
    {POLICY_HINT, {"import:os", 9}, {"use pathlib", 11}},
};

static struct wire_policy sample(void)
{
    return (struct wire_policy){
        .profile = text("strict"),
        .flags = POLICY_IMPORTS_LISTED | POLICY_DUNDER_DENIED,
        .powers = POWER_FILES,
        .max_bytes = 1000,
        .max_lines = 10,
        .rows = (struct policy_row *)rows,
        .n_rows = 3,
    };
}

static struct pack encode(const struct wire_policy *policy)
{
    struct pack p;

    pack_init(&p, POLICY_BYTES_MAX);
    wire_policy_encode(policy, &p);
    return p;
}

static void assert_span(struct span span, const char *expected)
{
    assert_int_equal(span.len, strlen(expected));
    assert_memory_equal(span.data, expected, span.len);
}

TEST(what_is_encoded_is_decoded)
{
    struct wire_policy policy = sample(), got = {0};
    struct pack p = encode(&policy);

    assert_false(p.failed);
    assert_int_equal(wire_policy_decode((struct span){(char *)p.data, p.len}, &got), 0);
    assert_span(got.profile, "strict");
    assert_int_equal(got.flags, policy.flags);
    assert_int_equal(got.powers, POWER_FILES);
    assert_int_equal(got.max_bytes, 1000);
    assert_int_equal(got.max_lines, 10);
    assert_int_equal(got.n_rows, 3);
    assert_int_equal(got.rows[1].list, POLICY_IMPORT_FROM);
    assert_span(got.rows[1].key, "io");
    assert_span(got.rows[1].value, "StringIO");
    assert_span(got.rows[2].value, "use pathlib");
    wire_policy_done(&got);
    pack_done(&p);
}

TEST(a_policy_cut_anywhere_is_refused)
{
    struct wire_policy policy = sample();
    struct pack p = encode(&policy);

    for (size_t len = 0; len < p.len; len++) {
        struct wire_policy got = {0};

        assert_int_equal(wire_policy_decode((struct span){(char *)p.data, len}, &got), -1);
        assert_null(got.rows);
    }
    pack_done(&p);
}

TEST(a_byte_too_many_is_refused)
{
    struct wire_policy policy = sample(), got;
    struct pack p = encode(&policy);

    pack_u8(&p, 0);
    assert_int_equal(wire_policy_decode((struct span){(char *)p.data, p.len}, &got), -1);
    pack_done(&p);
}

/* Every single byte changed: whatever still decodes is within the bounds. */
TEST(a_changed_byte_never_passes_the_bounds)
{
    struct wire_policy policy = sample();
    struct pack p = encode(&policy);

    for (size_t i = 0; i < p.len; i++) {
        for (int bit = 0; bit < 8; bit++) {
            struct wire_policy got = {0};

            p.data[i] ^= (uint8_t)(1 << bit);
            if (wire_policy_decode((struct span){(char *)p.data, p.len}, &got) == 0) {
                assert_true(got.n_rows <= POLICY_ROWS_MAX);
                assert_false(got.flags & ~(unsigned)POLICY_FLAGS_ALL);
                for (size_t row = 0; row < got.n_rows; row++) {
                    assert_in_range(got.rows[row].list, POLICY_IMPORT_ALLOW, POLICY_LIST_END - 1);
                    assert_true(got.rows[row].key.len > 0);
                }
                wire_policy_done(&got);
            }
            p.data[i] ^= (uint8_t)(1 << bit);
        }
    }
    pack_done(&p);
}

TEST(unknown_flags_lists_and_versions_are_refused)
{
    struct wire_policy policy = sample(), got;
    struct policy_row bad = {POLICY_LIST_END, {"x", 1}, {"", 0}};
    struct pack p;

    policy.flags = POLICY_FLAGS_ALL + 1;
    p = encode(&policy);
    assert_true(p.failed);
    pack_done(&p);
    policy = sample();
    policy.rows = &bad;
    policy.n_rows = 1;
    p = encode(&policy);
    assert_true(p.failed);
    pack_done(&p);
    policy = sample();
    p = encode(&policy);
    p.data[0]++;
    assert_int_equal(wire_policy_decode((struct span){(char *)p.data, p.len}, &got), -1);
    pack_done(&p);
}

TEST(a_name_with_a_nul_or_a_needless_value_is_refused)
{
    struct policy_row bad[] = {
        {POLICY_IMPORT_ALLOW, {"a\0b", 3}, {"", 0}},
        {POLICY_IMPORT_ALLOW, {"a", 1}, {"b", 1}},
        {POLICY_IMPORT_ALLOW, {"", 0}, {"", 0}},
        {POLICY_HINT, {"import:a", 8}, {"", 0}},
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct wire_policy policy = sample();
        struct pack p;

        policy.rows = &bad[i];
        policy.n_rows = 1;
        p = encode(&policy);
        assert_true(p.failed);
        pack_done(&p);
    }
}

UNIT_MAIN()
