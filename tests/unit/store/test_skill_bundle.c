#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "store/skill_bundle.h"
#include "wire/message.h"

#define HEAD "---\nname: csv-profile\ndescription: Profiles tables.\n---\nWords.\n"

static int add(struct skill_bundle *folder, const char *path, const char *data, struct error *err)
{
    return skill_bundle_add(folder, span_of(path), span_of(data), false, err);
}

TEST(a_folder_knows_its_name_and_files)
{
    cleanup(skill_bundle_done) struct skill_bundle folder = {0};
    struct error err = {0};

    assert_int_equal(add(&folder, "SKILL.md", HEAD, &err), 0);
    assert_int_equal(add(&folder, "scripts/b.py", "x = 1\n", &err), 0);
    assert_int_equal(add(&folder, "a.txt", "", &err), 0);
    assert_int_equal(skill_bundle_finish(&folder, &err), 0);
    assert_string_equal(folder.name, "csv-profile");
    assert_string_equal(folder.description, "Profiles tables.");
    assert_int_equal(folder.count, 3);
    assert_string_equal(folder.files[1].path, "a.txt");
    assert_string_equal(skill_bundle_find(&folder, "scripts/b.py")->data, "x = 1\n");
    assert_null(skill_bundle_find(&folder, "scripts"));
}

TEST(a_directory_around_everything_is_taken_off)
{
    cleanup(skill_bundle_done) struct skill_bundle folder = {0}, mixed = {0};
    struct error err = {0};

    assert_int_equal(add(&folder, "top/scripts/b.py", "", &err), 0);
    assert_int_equal(add(&folder, "top/SKILL.md", HEAD, &err), 0);
    assert_int_equal(add(&folder, "__MACOSX/top/._SKILL.md", "junk", &err), 0);
    assert_int_equal(add(&folder, "top/.DS_Store", "junk", &err), 0);
    assert_int_equal(skill_bundle_finish(&folder, &err), 0);
    assert_int_equal(folder.count, 2);
    assert_non_null(skill_bundle_find(&folder, "scripts/b.py"));

    assert_int_equal(add(&mixed, "top/SKILL.md", HEAD, &err), 0);
    assert_int_equal(add(&mixed, "other/a", "", &err), 0);
    assert_int_equal(skill_bundle_finish(&mixed, &err), -1);
    assert_error(&err, E_INVALID, "no SKILL.md");
}

TEST(paths_that_are_no_names_of_files_are_refused)
{
    static const char *const bad[] = {
        "",     "/etc/passwd", "../a", "a/../b", "a/./b", "a//b",
        "a/",   "a\\b",        "c:x",  "a\nb",   "\x80",  "caf\xc3\xa9",
        "a ",   " a",          "a.",   "x.pyc",  "y.SO",  "a/b/c/d/e/f/g/h/i",
        "a\x7f"};

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        cleanup(skill_bundle_done) struct skill_bundle folder = {0};
        struct error err = {0};

        if (add(&folder, bad[i], "", &err) == 0)
            fail_msg("accepted: %s", bad[i]);
        assert_int_equal(err.code, E_INVALID);
        error_done(&err);
    }
}

TEST(two_files_of_one_path_are_refused)
{
    static const char *const pairs[][2] = {
        {"a", "a"}, {"a", "A"}, {"a", "a/b"}, {"a/b", "A"}, {"scripts/x.py", "Scripts/X.py"}};

    for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
        cleanup(skill_bundle_done) struct skill_bundle folder = {0};
        struct error err = {0};

        assert_int_equal(add(&folder, pairs[i][0], "", &err), 0);
        assert_int_equal(add(&folder, pairs[i][1], "", &err), -1);
        assert_error(&err, E_INVALID, "two files");
    }
}

TEST(files_and_bytes_are_bounded)
{
    cleanup(skill_bundle_done) struct skill_bundle folder = {0}, large = {0};
    static char data[LIMIT_FOLDER_BYTES];
    struct error err = {0};
    char path[16];

    for (int i = 0; i < LIMIT_FOLDER_FILES; i++) {
        (void)snprintf(path, sizeof(path), "f%d", i);
        assert_int_equal(add(&folder, path, "", &err), 0);
    }
    assert_int_equal(add(&folder, "more", "", &err), -1);
    assert_error(&err, E_TOO_LARGE, "files");
    assert_int_equal(
        skill_bundle_add(&large, span_of("a"), (struct span){data, sizeof(data)}, false, &err), 0);
    assert_int_equal(add(&large, "b", "1", &err), -1);
    assert_error(&err, E_TOO_LARGE, "MiB");
}

TEST(paths_of_other_systems_are_rewritten)
{
    static const char text[] = "in /mnt/user-data/uploads/a.png, /mnt/skills/public/csv-profile/x "
                               "and /mnt/skills/public/other, /mnt/";
    cleanup(buf_done) struct buf out = {0};
    struct error err = {0};

    buf_init(&out, KIB);
    assert_int_equal(skill_bundle_rewrite("csv-profile", span_of(text), &out, &err), 0);
    assert_string_equal(buf_str(&out),
                        "in /workspace/uploads/a.png, /workspace/skills/csv_profile/x"
                        " and /mnt/skills/public/other, /mnt/");
}

TEST(its_python_is_listed_for_a_check)
{
    cleanup(skill_bundle_done) struct skill_bundle folder = {0};
    cleanup(buf_done) struct buf out = {0};
    struct error err = {0};

    buf_init(&out, KIB);
    assert_int_equal(add(&folder, "a.py", "x", &err), 0);
    assert_int_equal(add(&folder, "b.txt", "y", &err), 0);
    assert_int_equal(add(&folder, "c.PY", "", &err), 0);
    assert_int_equal(skill_bundle_sources(&folder, &out, &err), 0);
    assert_int_equal(out.len, 13);
    assert_memory_equal(out.data, "a.py\0x\0c.PY\0\0", 13);
    assert_int_equal(
        skill_bundle_add(&folder, span_of("d.py"), (struct span){"a\0b", 3}, false, &err), 0);
    assert_int_equal(skill_bundle_sources(&folder, &out, &err), -1);
    assert_error(&err, E_INVALID, "NUL");
}

static void write_file(int dir, const char *path, mode_t mode)
{
    cleanup_close int fd = openat(dir, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);

    assert_true(fd >= 0 && write(fd, "x\n", 2) == 2);
}

TEST(a_directory_is_read_without_following_links)
{
    char place[] = "/tmp/belljar-folder-XXXXXX";
    cleanup(skill_bundle_done) struct skill_bundle folder = {0}, linked = {0};
    struct error err = {0};
    int dir;

    assert_non_null(mkdtemp(place));
    dir = open(place, O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(mkdirat(dir, "scripts", 0700), 0);
    write_file(dir, "SKILL.md", 0600);
    write_file(dir, "scripts/run.sh", 0700);
    assert_int_equal(skill_bundle_read(&folder, place, &err), 0);
    assert_int_equal(folder.count, 2);
    assert_true(skill_bundle_find(&folder, "scripts/run.sh")->is_executable);
    assert_false(skill_bundle_find(&folder, "SKILL.md")->is_executable);

    assert_int_equal(symlinkat("/etc/passwd", dir, "scripts/link"), 0);
    assert_int_equal(skill_bundle_read(&linked, place, &err), -1);
    assert_error(&err, E_INVALID, "link");
    assert_int_equal(unlinkat(dir, "scripts/link", 0), 0);
    assert_int_equal(unlinkat(dir, "scripts/run.sh", 0), 0);
    assert_int_equal(unlinkat(dir, "scripts", AT_REMOVEDIR), 0);
    assert_int_equal(unlinkat(dir, "SKILL.md", 0), 0);
    (void)close(dir);
    assert_int_equal(rmdir(place), 0);
}

UNIT_MAIN()
