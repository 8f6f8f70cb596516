#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
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

TEST(what_is_written_is_read_back)
{
    char text[64];

    assert_int_equal(file_write(dir, "f", "hello"), 0);
    assert_int_equal(file_read(dir, "f", text, sizeof(text)), 5);
    assert_string_equal(text, "hello");
}

TEST(printf_formats_the_text)
{
    char text[64];

    assert_int_equal(file_printf(dir, "f", "%d %s", 12, "max"), 0);
    assert_int_equal(file_read(dir, "f", text, sizeof(text)), 6);
    assert_string_equal(text, "12 max");
}

TEST(trailing_newlines_are_cut)
{
    char text[64];

    assert_int_equal(file_write(dir, "f", "a\nb\n\n\n"), 0);
    assert_int_equal(file_read(dir, "f", text, sizeof(text)), 3);
    assert_string_equal(text, "a\nb");
}

TEST(no_more_is_read_than_fits)
{
    char text[4];

    assert_int_equal(file_write(dir, "f", "abcdef"), 0);
    assert_int_equal(file_read(dir, "f", text, sizeof(text)), 3);
    assert_string_equal(text, "abc");
}

TEST(failures_are_negative_errnos)
{
    char text[4];

    assert_int_equal(file_read(dir, "missing", text, sizeof(text)), -ENOENT);
    assert_int_equal(file_write(dir, "missing", "x"), -ENOENT);
    assert_int_equal(file_printf(dir, "missing", "x"), -ENOENT);
    assert_int_equal(file_read(dir, ".", text, sizeof(text)), -EISDIR);
    assert_int_equal(faccessat(dir, "missing", F_OK, 0), -1);
}

TEST(a_stream_and_a_directory_can_be_read_and_a_missing_one_is_none)
{
    char text[64] = "";
    bool is_listed = false;
    struct dirent *entry;
    FILE *stream;
    DIR *list;

    assert_int_equal(file_write(dir, "f", "one\ntwo\n"), 0);
    stream = file_open_stream(dir, "f");
    assert_non_null(stream);
    assert_non_null(fgets(text, sizeof(text), stream));
    assert_string_equal(text, "one\n");
    assert_int_equal(fclose(stream), 0);

    list = file_open_dir(dir, ".");
    assert_non_null(list);
    while ((entry = readdir(list)))
        is_listed |= strcmp(entry->d_name, "f") == 0;
    assert_true(is_listed);
    assert_int_equal(closedir(list), 0);
    assert_int_equal(faccessat(dir, "f", F_OK, 0), 0); /* ours is still open */

    assert_null(file_open_stream(dir, "missing"));
    assert_null(file_open_dir(dir, "missing"));
    assert_null(file_open_dir(dir, "f"));
    assert_int_equal(errno, ENOTDIR);
}

TEST(descriptors_are_scarce_in_the_last_quarter)
{
    struct rlimit before, few;
    int opened[64], n = 0;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = (struct rlimit){.rlim_cur = 64, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    assert_false(file_descriptors_are_scarce());
    do {
        opened[n] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        assert_true(opened[n] >= 0);
    } while (opened[n++] < 47);
    assert_true(file_descriptors_are_scarce());
    close_fd(&opened[--n]);
    assert_false(file_descriptors_are_scarce());
    while (n)
        close_fd(&opened[--n]);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

UNIT_MAIN_WITH(setup, teardown)
