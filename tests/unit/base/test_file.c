#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/file.h"

static int dir = -1;
static char dir_path[] = "/tmp/belljar-file-XXXXXX";

static int setup(void **state)
{
    int fd;

    (void)state;
    if (!mkdtemp(dir_path))
        return -1;
    dir = open(dir_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    fd = openat(dir, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    return dir < 0 || fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
    (void)state;
    (void)unlinkat(dir, "f", 0);
    (void)close(dir);
    return rmdir(dir_path);
}

static void what_is_written_is_read_back(void **state)
{
    char text[64];

    (void)state;
    assert_int_equal(file_write(dir, "f", "hello"), 0);
    assert_int_equal(file_read(dir, "f", text, sizeof(text)), 5);
    assert_string_equal(text, "hello");
}

static void printf_formats_the_text(void **state)
{
    char text[64];

    (void)state;
    assert_int_equal(file_printf(dir, "f", "%d %s", 12, "max"), 0);
    assert_int_equal(file_read(dir, "f", text, sizeof(text)), 6);
    assert_string_equal(text, "12 max");
}

static void trailing_newlines_are_cut(void **state)
{
    char text[64];

    (void)state;
    assert_int_equal(file_write(dir, "f", "a\nb\n\n\n"), 0);
    assert_int_equal(file_read(dir, "f", text, sizeof(text)), 3);
    assert_string_equal(text, "a\nb");
}

static void no_more_is_read_than_fits(void **state)
{
    char text[4];

    (void)state;
    assert_int_equal(file_write(dir, "f", "abcdef"), 0);
    assert_int_equal(file_read(dir, "f", text, sizeof(text)), 3);
    assert_string_equal(text, "abc");
}

static void failures_are_negative_errnos(void **state)
{
    char text[4];

    (void)state;
    assert_int_equal(file_read(dir, "missing", text, sizeof(text)), -ENOENT);
    assert_int_equal(file_write(dir, "missing", "x"), -ENOENT);
    assert_int_equal(file_printf(dir, "missing", "x"), -ENOENT);
    assert_int_equal(file_read(dir, ".", text, sizeof(text)), -EISDIR);
    assert_int_equal(faccessat(dir, "missing", F_OK, 0), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_back), cmocka_unit_test(printf_formats_the_text),
        cmocka_unit_test(trailing_newlines_are_cut),    cmocka_unit_test(no_more_is_read_than_fits),
        cmocka_unit_test(failures_are_negative_errnos),
    };

    return UNIT_RUN_WITH(tests, setup, teardown);
}
