/* What a run leaves in /workspace, in a real sandbox. */
#include "unit.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/vfs.h>

#include "base/limits.h"
#include "pool/scene.h"

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

static void a_run_lists_what_it_made_and_then_it_is_gone(void **state)
{
    const struct run *run;
    struct scene s;

    (void)state;
    scene_begin(&s, (struct pool_options){0});
    scene_submit(&s, "open('b.csv', 'w').write('x' * 120); import os; os.mkdir('d');"
                     "open('d/a', 'w'); open('/tmp/t', 'w'); os.symlink('/etc/passwd', 'link')");
    scene_wait(&s, all_are_let_go);
    run = s.tickets[0].run;
    assert_int_equal(run->n_files, 2);
    assert_string_equal(run->files[0].path, "b.csv");
    assert_int_equal(run->files[0].size, 120);
    assert_int_equal(run->files[0].change, RUN_FILE_NEW);
    assert_string_equal(run->files[1].path, "d/a");
    assert_false(run->has_more_files);
    scene_finish(&s);
}

static void a_run_that_was_killed_lists_its_files_too(void **state)
{
    struct run *run;
    struct scene s;

    (void)state;
    scene_begin(&s, (struct pool_options){0});
    run = scene_prepare(&s, "open('partial', 'w').write('x'); import time; time.sleep(60)");
    run->limits.timeout_ms = 2000;
    pool_submit(s.pool, run);
    scene_wait(&s, scene_all_done);
    assert_int_equal(run->status, RUN_TIMEOUT);
    assert_int_equal(run->n_files, 1);
    assert_string_equal(run->files[0].path, "partial");
    scene_finish(&s);
}

static void the_list_has_an_end(void **state)
{
    const struct run *run;
    struct scene s;

    (void)state;
    scene_begin(&s, (struct pool_options){0});
    scene_submit(&s, "for i in range(3000): open(f'{i:05}', 'w')");
    scene_wait(&s, scene_all_done);
    run = s.tickets[0].run;
    assert_int_equal(run->n_files, LIMIT_FILES_NAMED);
    assert_string_equal(run->files[99].path, "00099");
    assert_true(run->has_more_files);
    scene_finish(&s);
}

static void a_sandbox_in_the_stock_holds_one_descriptor(void **state)
{
    struct scene s;

    (void)state;
    scene_begin(&s, (struct pool_options){.size = 2});
    scene_wait(&s, scene_stock_is_full);
    assert_int_equal(workspaces_held(), 2);
    scene_finish(&s);
    assert_int_equal(workspaces_held(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_lists_what_it_made_and_then_it_is_gone),
        cmocka_unit_test(a_run_that_was_killed_lists_its_files_too),
        cmocka_unit_test(the_list_has_an_end),
        cmocka_unit_test(a_sandbox_in_the_stock_holds_one_descriptor),
    };

    return UNIT_RUN(tests);
}
