/* Files that a run leaves in /workspace, in a real sandbox. */
#include "unit.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/limits.h"
#include "engine/box.h"
#include "engine/scene.h"

/* Descriptors of ours that keep a tmpfs alive. */
static size_t workspaces_held(void)
{
    size_t count = 0;

    for (int fd = 0; fd < 1024; fd++) {
        int flags = fcntl(fd, F_GETFL);
        struct statfs fs;

        count +=
            flags >= 0 && (flags & O_PATH) && fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
    }
    return count;
}

/* The answer comes before the sandbox is gone. */
static bool all_are_let_go(struct scene *s)
{
    return scene_all_done(s) && workspaces_held() == 0;
}

TEST(a_run_lists_what_it_made_and_then_it_is_gone)
{
    const struct run *run;
    struct scene s;

    scene_begin(&s, (struct pool_options){0});
    scene_submit(&s, "open('b.csv', 'w').write('x' * 120); import os; os.mkdir('d');"
                     "open('d/a', 'w'); open('/tmp/t', 'w'); os.symlink('/etc/passwd', 'link')");
    scene_wait(&s, all_are_let_go);
    run = s.tickets[0].run;
    assert_int_equal(run->result.n_files, 2);
    assert_string_equal(run->result.files[0].path, "b.csv");
    assert_int_equal(run->result.files[0].size, 120);
    assert_int_equal(run->result.files[0].change, RUN_FILE_NEW);
    assert_string_equal(run->result.files[1].path, "d/a");
    assert_false(run->result.has_more_files);
    scene_finish(&s);
}

TEST(a_run_that_was_killed_lists_its_files_too)
{
    struct run *run;
    struct scene s;

    scene_begin(&s, (struct pool_options){0});
    run = scene_prepare(&s, "open('partial', 'w').write('x'); import time; time.sleep(60)");
    run->terms.limits.timeout_ms = 2000;
    pool_submit(s.pool, run);
    scene_wait(&s, scene_all_done);
    assert_int_equal(run->result.status, RUN_TIMEOUT);
    assert_int_equal(run->result.n_files, 1);
    assert_string_equal(run->result.files[0].path, "partial");
    scene_finish(&s);
}

/* Waits for a file from outside, looks at it, changes it, and leaves one whose mode forbids all. */
#define GUEST                                                                                      \
    "import os, time\n"                                                                            \
    "print('on', flush=True)\n"                                                                    \
    "while not os.path.exists('in/go'): time.sleep(0.005)\n"                                       \
    "st = os.stat('in/go')\n"                                                                      \
    "print(open('in/go').read(), st.st_uid == os.getuid(), oct(st.st_mode), os.listdir('in'))\n"   \
    "open('in/go', 'a').write('!')\n"                                                              \
    "open('shut', 'w').write('x'); os.chmod('shut', 0)\n"                                          \
    "print('ready', flush=True)\n"                                                                 \
    "while os.path.exists('in'): time.sleep(0.005)\n"

static bool first_is_on(struct scene *s)
{
    return strstr(s->tickets[0].out, "on\n") != NULL;
}

static bool first_is_ready(struct scene *s)
{
    return strstr(s->tickets[0].out, "ready\n") != NULL;
}

TEST(a_live_sandbox_and_the_supervisor_share_files)
{
    const struct files_write_options options = {.makes_parents = true};
    struct files_writer writer;
    struct error err = {0};
    struct files *files;
    struct scene s;
    char data[8] = {0};
    int fd;

    scene_begin(&s, (struct pool_options){0});
    scene_submit(&s, GUEST);
    scene_wait(&s, first_is_on);
    files = box_files(s.tickets[0].run->box);
    assert_non_null(files);
    if (files_write_begin(&writer, files, "in/go", &options, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(files_write_feed(&writer, "hello", 5, &err), 0);
    if (files_write_commit(&writer, &err) < 0)
        fail_msg("%s", err.message);
    scene_wait(&s, first_is_ready);
    assert_int_equal(files_open(files, "in/go", &fd, NULL, &err), 0);
    assert_int_equal(files_read(fd, 0, data, sizeof(data), &err), 6);
    assert_string_equal(data, "hello!");
    (void)close(fd);
    assert_int_equal(files_open(files, "shut", &fd, NULL, &err), -1);
    assert_error(&err, E_DENIED, "mode forbids");
    assert_int_equal(files_make_directory(files, "in/more/still", &err), 0);
    assert_int_equal(files_delete(files, "in", true, &err), 0);
    scene_wait(&s, scene_all_done);
    scene_assert_ran(&s.tickets[0], "on\nhello True 0o100644 ['go']\nready\n");
    scene_finish(&s);
}

/* More than the disk holds, from outside. */
TEST(the_disk_of_a_sandbox_is_a_limit_for_us_too)
{
    const struct files_write_options options = {0};
    struct files_writer writer;
    struct error err = {0};
    char *block = calloc(1, MIB);
    struct scene s;
    struct run *run;
    int r = 0;

    scene_begin(&s, (struct pool_options){0});
    run = scene_prepare(&s, "import os, time\nprint('on', flush=True)\n"
                            "while not os.path.exists('go'): time.sleep(0.005)\n");
    run->terms.limits.disk_bytes = 4 * MIB;
    pool_submit(s.pool, run);
    scene_wait(&s, first_is_on);
    assert_int_equal(files_write_begin(&writer, box_files(run->box), "big", &options, &err), 0);
    for (int i = 0; r == 0 && i < 8; i++)
        r = files_write_feed(&writer, block, MIB, &err);
    assert_error(&err, E_TOO_LARGE, "the sandbox's disk is full");
    files_write_abort(&writer);
    assert_int_equal(files_make_directory(box_files(run->box), "go", &err), 0);
    scene_wait(&s, scene_all_done);
    assert_int_equal(run->result.n_files, 0);
    free(block);
    scene_finish(&s);
}

TEST(the_list_has_an_end)
{
    const struct run *run;
    struct scene s;

    scene_begin(&s, (struct pool_options){0});
    scene_submit(&s, "for i in range(3000): open(f'{i:05}', 'w')");
    scene_wait(&s, scene_all_done);
    run = s.tickets[0].run;
    assert_int_equal(run->result.n_files, LIMIT_FILES_NAMED);
    assert_string_equal(run->result.files[99].path, "00099");
    assert_true(run->result.has_more_files);
    scene_finish(&s);
}

TEST(a_sandbox_in_the_stock_holds_two_descriptors)
{
    struct scene s;

    scene_begin(&s, (struct pool_options){.size = 2});
    scene_wait(&s, scene_stock_is_full);
    assert_int_equal(workspaces_held(), 4); /* /workspace and /tmp of each */
    scene_finish(&s);
    assert_int_equal(workspaces_held(), 0);
}

UNIT_MAIN()
