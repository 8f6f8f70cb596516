#include "unit.h"

#include <errno.h>
#include <stdio.h>

#include "base/meminfo.h"

static const char *meminfo; /* NULL: there is none */

int __wrap_file_read(int dirfd, const char *path, char *text, size_t size);

int __wrap_file_read(int dirfd, const char *path, char *text, size_t size)
{
    (void)dirfd;
    assert_string_equal(path, "/proc/meminfo");
    return meminfo ? snprintf(text, size, "%s", meminfo) : -ENOENT;
}

TEST(what_the_host_says_is_read_in_bytes)
{
    struct meminfo m;

    meminfo = "MemTotal:       1000 kB\nMemFree:        10 kB\nMemAvailable:    200 kB\n"
              "SwapCached:        7 kB\nSwapTotal:         3 kB\n";
    assert_true(meminfo_read(&m));
    assert_int_equal(m.total_bytes, 1000 * 1024);
    assert_int_equal(m.available_bytes, 200 * 1024);
    assert_int_equal(m.swap_bytes, 3 * 1024);
}

TEST(a_host_without_swap_has_none)
{
    struct meminfo m;

    meminfo = "MemTotal: 1000 kB\nMemAvailable: 200 kB\n";
    assert_true(meminfo_read(&m));
    assert_int_equal(m.swap_bytes, 0);
}

TEST(a_host_that_does_not_say_is_no_answer)
{
    struct meminfo m = {.total_bytes = 7};

    meminfo = NULL;
    assert_false(meminfo_read(&m));
    meminfo = "MemTotal: 1000 kB\n";
    assert_false(meminfo_read(&m));
    meminfo = "MemTotal: many\nMemAvailable: 200 kB\n";
    assert_false(meminfo_read(&m));
    assert_int_equal(m.total_bytes, 7);
}

UNIT_MAIN()
