/* The operator's file of hosts: who may have written it, and how much it takes. */
#include "unit.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "engine/remembered_hosts.h"

static char dir[64], file[128];

static void put(const char *text)
{
    FILE *f = fopen(file, "we");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(file, 0600), 0);
}

static int begin(void **state)
{
    char path[128];

    (void)state;
    (void)snprintf(dir, sizeof(dir), "/tmp/belljar-hosts.XXXXXX");
    if (!mkdtemp(dir) || setenv("XDG_STATE_HOME", dir, 1) < 0)
        return -1;
    (void)snprintf(path, sizeof(path), "%s/belljar", dir);
    (void)snprintf(file, sizeof(file), "%s/belljar/hosts", dir);
    return mkdir(path, 0700);
}

static int end(void **state)
{
    static const char *const names[] = {"belljar/hosts", "belljar/hosts.lock", "belljar/other",
                                        "belljar"};
    char path[128];

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        if (unlink(path) < 0)
            (void)rmdir(path);
    }
    return rmdir(dir);
}

TEST_WITH(a_host_is_remembered_once, begin, end)
{
    struct stat st;

    assert_false(remembered_hosts_has("a.test"));
    assert_int_equal(remembered_hosts_add("a.test", NULL), 0);
    assert_int_equal(remembered_hosts_add("b.test:8443", NULL), 0);
    assert_int_equal(stat(file, &st), 0);
    assert_int_equal(remembered_hosts_add("a.test", NULL), 0);
    assert_true(remembered_hosts_has("a.test") && remembered_hosts_has("b.test:8443"));
    assert_false(remembered_hosts_has("b.test") || remembered_hosts_has("") ||
                 remembered_hosts_has("a.tes") || remembered_hosts_has("a.test:443"));
    assert_int_equal(st.st_size, strlen("a.test\nb.test:8443\n"));
    assert_int_equal(st.st_mode & 0777, 0600);
}

TEST_WITH(a_file_of_somebody_else_is_not_believed, begin, end)
{
    char other[128];

    put("a.test");
    assert_true(remembered_hosts_has("a.test"));
    assert_int_equal(chmod(file, 0620), 0);
    assert_false(remembered_hosts_has("a.test"));
    assert_int_equal(chmod(file, 0602), 0);
    assert_false(remembered_hosts_has("a.test"));
    assert_int_equal(chmod(file, 0600), 0);
    (void)snprintf(other, sizeof(other), "%s/belljar/other", dir);
    assert_int_equal(rename(file, other), 0);
    assert_int_equal(symlink("other", file), 0);
    assert_false(remembered_hosts_has("a.test"));
    assert_int_equal(unlink(file), 0);
    assert_int_equal(mkfifo(file, 0600), 0);
    assert_false(remembered_hosts_has("a.test"));
}

TEST_WITH(it_takes_so_many_and_no_more, begin, end)
{
    struct error err = {0};
    FILE *f = fopen(file, "we");

    for (int i = 0; i < LIMIT_NET_REMEMBERED - 1; i++)
        (void)fprintf(f, "h%d.test\n", i);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(file, 0600), 0);
    assert_int_equal(remembered_hosts_add("last.test", &err), 0);
    assert_true(remembered_hosts_add("more.test", &err) < 0);
    assert_int_equal(err.code, E_TOO_LARGE);
    error_done(&err);
    assert_true(remembered_hosts_has("last.test") && !remembered_hosts_has("more.test"));
}

UNIT_MAIN()
