#include "undo/undo.h"

#include "base/cleanup.h"
#include "base/limits.h"
#include "undo/scene.h"
#include "undo/taking_back.h"

#define ROUND_TRIP(test, program)                                                                  \
    UNDO_TEST(test)                                                                                \
    {                                                                                              \
        fill_grant();                                                                              \
        round_trip(program);                                                                       \
    }

ROUND_TRIP(content_comes_back, write_and_append)
ROUND_TRIP(what_was_made_goes, create_all_kinds)
ROUND_TRIP(what_was_removed_comes_back, remove_all_kinds)
ROUND_TRIP(what_was_renamed_goes_back, rename_all_kinds)
ROUND_TRIP(modes_and_attributes_come_back, change_attributes)
ROUND_TRIP(files_saved_by_editors_come_back, save_as_editors_do)
ROUND_TRIP(what_changed_places_goes_back, swap_places)
ROUND_TRIP(a_file_that_became_a_directory_is_one_again, replace_kinds)
ROUND_TRIP(things_come_back_through_directories_that_are_gone, pass_through)
ROUND_TRIP(a_name_used_many_times_ends_as_it_began, same_names_again)

/* The number of a file that is gone is given to the next one that is made. */
UNDO_TEST(a_file_that_got_the_number_of_another_goes_again)
{
    fill_grant();
    scene_begin("run", NULL);
    do_write("new", "x");
    scene_seal();
    undo("run", "undo1");
    assert_no_conflict();
    forget_steps();
    undo("undo1", "undo2");
    assert_no_conflict();
    assert_string_equal(get("new"), "x");
    number_was_of_another("new");
    forget_steps();
    undo("run", "undo3");
    assert_no_conflict();
    assert_false(exists("new"));
}

UNDO_TEST(odd_names_come_back)
{
    cleanup_free char *before = NULL;

    fill_grant();
    put("old\nname", "1");
    before = snapshot();
    scene_begin("run", NULL);
    odd_names();
    scene_seal();
    undo("run", "undo1");
    assert_no_conflict();
    /* Somebody else has written this one meanwhile. */
    assert_string_equal(get("old\nname"), "1");
    assert_false(exists("new\nname"));
    assert_string_equal(get("a"), "text of a");
    assert_false(exists(" "));
}

UNDO_TEST(what_was_changed_by_a_name_that_went_comes_back)
{
    fill_grant();
    round_trip(hard_links_that_go);
}

UNDO_TEST(closed_files_come_back)
{
    fill_grant();
    round_trip(closed_files);
}

UNDO_TEST(hard_links_stay_linked)
{
    struct stat one, other;

    fill_grant();
    round_trip(hard_links);
    forget_steps();
    assert_int_equal(fstatat(scene.grant, "a", &one, 0), 0);
    assert_int_equal(one.st_nlink, 1);
    assert_string_equal(get("a"), "text of a");

    /* Two names from before the run: the content is changed by one and comes back for both. */
    assert_int_equal(link("grant/precious", "grant/other"), 0);
    scene_begin("second", NULL);
    do_write("other", "changed");
    assert_string_equal(get("precious"), "changed");
    scene_seal();
    forget_steps();
    undo("second", "undo5");
    assert_string_equal(get("precious"), "years of work");
    assert_int_equal(fstatat(scene.grant, "precious", &one, 0), 0);
    assert_int_equal(fstatat(scene.grant, "other", &other, 0), 0);
    assert_int_equal(one.st_ino, other.st_ino);
}

UNDO_TEST(a_sparse_file_comes_back_sparse)
{
    struct stat st;

    put("sparse", "begin");
    assert_int_equal(truncate("grant/sparse", (off_t)10 << 30), 0);
    scene_begin("run", NULL);
    do_write("sparse", "short");
    scene_seal();
    undo("run", "undo1");
    assert_no_conflict();
    assert_int_equal(fstatat(scene.grant, "sparse", &st, 0), 0);
    assert_true(st.st_size == (off_t)10 << 30);
    assert_in_range(st.st_blocks * 512, 0, 256 * KIB);
    assert_memory_equal(get("sparse"), "begin", 6);
}

UNDO_TEST(several_runs_are_undone_one_after_the_other)
{
    cleanup_free char *before = NULL;

    fill_grant();
    before = snapshot();
    scene_begin("one", NULL);
    do_rename("d", "e");
    do_write("e/f", "of one");
    do_write("new", "of one");
    do_symlink("x", "sym");
    scene_seal();
    scene_begin("two", NULL);
    do_remove("sym");
    do_remove("e/f");
    do_remove("e/g");
    do_remove("e/deep/h");
    do_remove("e/deep");
    do_remove("e");
    do_write("new", "of two");
    scene_seal();
    undo("two", "undo1");
    assert_no_conflict();
    assert_string_equal(get("e/f"), "of one");
    forget_steps();
    undo("one", "undo2");
    assert_no_conflict();
    assert_as(before);
}

UNDO_TEST(the_report_names_what_people_know)
{
    fill_grant();
    scene_begin("run", NULL);
    do_write("tmp1", "x");
    do_rename("tmp1", "result");
    do_write("gone", "y");
    do_remove("gone");
    scene_seal();
    rehearse("run");
    assert_int_equal(report.n_done, 1);
    assert_int_equal(item("result")->action, UNDO_REMOVED);
}

UNIT_MAIN()
