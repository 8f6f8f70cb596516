#include "unit.h"

#include <fcntl.h>

#include "base/run.h"
#include "base/stream.h"
#include "mask/masker.h"

TEST(a_new_run_has_an_id_and_default_limits)
{
    struct run *run = run_new();

    assert_non_null(run);
    assert_int_equal(strlen(run->id), 30);
    assert_memory_equal(run->id, "run_", 4);
    assert_int_equal(strspn(run->id + 4, "0123456789ABCDEFGHJKMNPQRSTVWXYZ"), 26);
    assert_int_equal(run->terms.limits.timeout_ms, 30000);
    assert_int_equal(run->terms.limits.memory_bytes, 1024 * MIB);
    assert_int_equal(run->terms.limits.processes, 256);
    assert_int_equal(run->program.code.limit, LIMIT_CODE_BYTES);
    run_free(run);
}

TEST(ids_differ_and_sort_by_time)
{
    struct run *a = run_new();
    struct run *b = run_new();

    assert_string_not_equal(a->id, b->id);
    /* The first ten characters are the clock; within one millisecond they are equal. */
    assert_true(strncmp(a->id, b->id, 14) <= 0);
    run_free(a);
    run_free(b);
}

TEST(free_releases_everything_a_run_may_hold)
{
    struct run *run = run_new();
    struct error err = {0};
    int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(buf_add_str(&run->program.code, "print(1)", &err), 0);
    assert_int_equal(run_stream_add(&run->result.out, masker_pass_unmasked("x", 1), &err), 0);
    run->terms.env = calloc(2, sizeof(char *));
    run->terms.env[0] = strdup("A=b");
    run->terms.grants[0] = (struct run_grant){strdup("/"), fd, RUN_GRANT_RO};
    run->terms.n_grants = 1;
    run->result.violations = calloc(1, sizeof(*run->result.violations));
    run->result.violations[0].rule = strdup("import");
    run->result.violations[0].message = strdup("no");
    run->result.n_violations = 1;
    run->result.exception.name = strdup("E");
    run->result.value_text = strdup("6");
    error_set(&run->result.error, E_BUSY, "x");
    run_free(run);
    assert_int_equal(fcntl(fd, F_GETFD), -1); /* the grant's descriptor was closed */
    run_free(NULL);
}

TEST(exit_codes_follow_the_status)
{
    struct run *run = run_new();

    run->result.status = RUN_SUCCESS;
    assert_int_equal(run_status_exit(run), 0);
    run->result.status = RUN_TIMEOUT;
    assert_int_equal(run_status_exit(run), 124);
    run->result.status = RUN_MEMORY_EXCEEDED;
    assert_int_equal(run_status_exit(run), 137);
    run->result.status = RUN_REFUSED;
    assert_int_equal(run_status_exit(run), 126);
    run->result.status = RUN_CANCELLED;
    assert_int_equal(run_status_exit(run), 130);
    run_free(run);
}

TEST(an_error_passes_its_own_code_on_and_is_never_zero)
{
    struct run *run = run_new();

    run->result.status = RUN_ERROR;
    run->result.exit_code = 3;
    assert_int_equal(run_status_exit(run), 3);
    run->result.exit_code = 0;
    assert_int_equal(run_status_exit(run), 1);
    run->result.exit_code = 256;
    assert_int_equal(run_status_exit(run), 1);
    run->result.signal = 11;
    assert_int_equal(run_status_exit(run), 139);
    run_free(run);
}

TEST(names_are_those_of_the_wire)
{
    assert_string_equal(run_status_name(RUN_SUCCESS), "success");
    assert_string_equal(run_status_name(RUN_MEMORY_EXCEEDED), "memory_exceeded");
    assert_string_equal(run_status_name(RUN_CANCELLED), "cancelled");
}

TEST(a_program_is_known_by_a_plain_name)
{
    static const char *const names[][2] = {
        {"report.py", "report.py"},
        {"/a/b c/re port.py", "re_port.py"},
        {"<frozen os>", "_frozen_os_"},
        {"a\nb\033.py", "a_b_.py"},
        {"\xc3\xbc.py", "__.py"},
        {"-", "-"},
        {"x-1_2+3.tar.py", "x-1_2+3.tar.py"},
    };
    char name[RUN_PROGRAM_NAME_MAX], longest[300];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        run_program_name(names[i][0], name);
        assert_string_equal(name, names[i][1]);
    }
    memset(longest, 'a', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    run_program_name(longest, name);
    assert_int_equal(strlen(name), RUN_PROGRAM_NAME_MAX - 1);
}

UNIT_MAIN()
