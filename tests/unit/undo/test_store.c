#include "undo/store.h"

#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "undo/scene.h"

static int run_dir = -1;
static json_t *answer;

static int enter(void **state)
{
    char place[4096];

    if (scene_enter(state) < 0 || !getcwd(place, sizeof(place) - 8))
        return -1;
    (void)strncat(place, "/state", 7);
    return setenv("XDG_STATE_HOME", place, 1);
}

static int leave(void **state)
{
    json_decref(answer);
    answer = NULL;
    close_fd(&run_dir);
    return scene_leave(state);
}

static void begin(const char *id, const char *owner)
{
    const struct journal_limits limits = {16 * MIB, 1000};
    char path[4096];
    struct run_grant grant = {path, scene.grant, RUN_GRANT_RW};
    const struct undo_store_run run = {
        .id = id, .owner = owner, .grants = &grant, .n_grants = 1, .uid = (uid_t)-1};
    struct error err = {0};

    assert_non_null(getcwd(path, sizeof(path) - 8));
    (void)strncat(path, "/grant", 7);
    if (undo_store_begin(&run, &run_dir, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(journal_new(run_dir, &limits, &scene.journal, &err), 0);
    assert_int_equal(journal_grant(scene.journal, 0, scene.grant, &err), 0);
}

static void end(const char *id)
{
    struct journal_counts counts;
    struct error err = {0};

    journal_count(scene.journal, &counts);
    assert_int_equal(journal_seal(scene.journal, &err), 0);
    scene_crash();
    undo_store_end(take_fd(run_dir), id, &counts);
}

static int try_undo(const char *id, const char *owner, bool is_dry, struct error *err)
{
    const struct undo_store_wish wish = {
        .id = id, .owner = owner, .is_dry = is_dry, .bytes = 64 * MIB};

    json_decref(answer);
    answer = NULL;
    return undo_store_undo(&wish, &answer, err);
}

static void undo(const char *id)
{
    struct error err = {0};

    if (try_undo(id, NULL, false, &err) < 0)
        fail_msg("%s", err.message);
}

static json_int_t number(const char *key)
{
    return json_integer_value(json_object_get(answer, key));
}

static size_t listed(const char *owner)
{
    struct error err = {0};
    json_t *list = NULL;
    size_t count;

    assert_int_equal(undo_store_list(owner, &list, &err), 0);
    count = json_array_size(list);
    json_decref(list);
    return count;
}

static bool is_removed(const char *id)
{
    struct error err = {0};
    cleanup_json json_t *list = NULL;

    assert_int_equal(undo_store_list(NULL, &list, &err), 0);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *run = json_array_get(list, i);

        if (strcmp(json_string_value(json_object_get(run, "run")), id) == 0)
            return json_is_true(json_object_get(run, "removed_for_space"));
    }
    fail_msg("%s is not listed", id);
    return false;
}

/* Makes a run one of the year 2001. */
static void age(const char *id)
{
    char path[128];
    cleanup_json json_t *meta = NULL;

    (void)snprintf(path, sizeof(path), "state/belljar/undo/%s/meta.json", id);
    meta = json_load_file(path, 0, NULL);
    assert_non_null(meta);
    (void)json_object_set_new(meta, "began_ns", json_integer(1000000000000000000));
    assert_int_equal(json_dump_file(meta, path, 0), 0);
}

#define ONE "run_00000000000000000000000001"
#define TWO "run_00000000000000000000000002"

TEST_WITH(a_run_is_undone_and_redone, enter, leave)
{
    char id[32];

    put("a", "before");
    begin(ONE, "me");
    do_write("a", "after");
    do_write("new", "x");
    end(ONE);
    undo(ONE);
    assert_int_equal(number("n_done"), 2);
    assert_int_equal(number("n_conflicts"), 0);
    assert_string_equal(get("a"), "before");
    assert_false(exists("new"));
    (void)snprintf(id, sizeof(id), "%s", json_string_value(json_object_get(answer, "undo")));

    undo(ONE);
    assert_true(json_is_true(json_object_get(answer, "already_undone")));
    assert_true(json_is_null(json_object_get(answer, "undo")));

    undo(id);
    assert_int_equal(number("n_done"), 2);
    assert_string_equal(get("a"), "after");
    assert_string_equal(get("new"), "x");

    undo(ONE);
    assert_int_equal(number("n_done"), 2);
    assert_string_equal(get("a"), "before");
}

TEST_WITH(a_rehearsal_leaves_no_trace, enter, leave)
{
    struct error err = {0};

    begin(ONE, "me");
    do_write("new", "x");
    end(ONE);
    assert_int_equal(try_undo(ONE, "me", true, &err), 0);
    assert_int_equal(number("n_done"), 1);
    assert_true(exists("new"));
    assert_int_equal(listed(NULL), 1);
}

TEST_WITH(a_run_of_somebody_else_is_not_there, enter, leave)
{
    struct error err = {0};

    begin(ONE, "me");
    do_write("new", "x");
    end(ONE);
    assert_int_equal(try_undo(ONE, "you", false, &err), -1);
    assert_error(&err, E_NOT_FOUND, "no undo record of a run");
    assert_int_equal(try_undo("../" ONE, NULL, false, &err), -1);
    assert_error(&err, E_NOT_FOUND, "no undo record of a run");
    assert_int_equal(try_undo("", NULL, false, &err), -1);
    assert_error(&err, E_NOT_FOUND, "no undo record of a run");
    assert_true(exists("new"));
    assert_int_equal(listed("me"), 1);
    assert_int_equal(listed("you"), 0);
}

TEST_WITH(a_run_that_goes_on_is_neither_undone_nor_removed, enter, leave)
{
    struct error err = {0};

    begin(ONE, "me");
    do_write("new", "x");
    assert_int_equal(try_undo(ONE, NULL, false, &err), -1);
    assert_error(&err, E_BUSY, "still running");
    assert_int_equal(undo_store_prune(0, 0, &err), 0);
    assert_int_equal(listed(NULL), 1);
    end(ONE);
    undo(ONE);
    assert_false(exists("new"));
}

TEST_WITH(a_run_without_changes_is_forgotten, enter, leave)
{
    begin(ONE, "me");
    end(ONE);
    assert_int_equal(listed(NULL), 0);
}

TEST_WITH(a_directory_that_was_replaced_is_left_alone, enter, leave)
{
    begin(ONE, "me");
    do_write("new", "x");
    end(ONE);
    assert_int_equal(rename("grant", "old"), 0);
    assert_int_equal(mkdir("grant", 0755), 0);
    undo(ONE);
    assert_int_equal(number("n_done"), 0);
    assert_int_equal(number("n_conflicts"), 1);
    assert_int_equal(access("old/new", F_OK), 0);
}

static bool refuse(void *arg, const char *path)
{
    (void)arg;
    assert_contains(path, "/grant");
    return false;
}

TEST_WITH(a_directory_that_may_not_be_written_any_more_is_refused, enter, leave)
{
    const struct undo_store_wish wish = {.id = ONE, .bytes = MIB, .may_write = refuse};
    struct error err = {0};

    begin(ONE, "me");
    do_write("new", "x");
    end(ONE);
    assert_int_equal(undo_store_undo(&wish, &answer, &err), -1);
    assert_error(&err, E_DENIED, "may no longer write");
    assert_true(exists("new"));
}

/* A partial undo: what was in conflict is tried again, and nothing else. */
TEST_WITH(only_what_was_in_conflict_is_tried_again, enter, leave)
{
    put("a", "before");
    begin(ONE, "me");
    do_remove("a");
    do_mkdir("d");
    end(ONE);
    put("a", "in the way");
    undo(ONE);
    assert_int_equal(number("n_done"), 1);
    assert_int_equal(number("n_conflicts"), 1);
    assert_int_equal(unlink("grant/a"), 0);
    assert_int_equal(mkdir("grant/d", 0755), 0); /* somebody's own now */
    undo(ONE);
    assert_int_equal(number("n_done"), 1);
    assert_int_equal(number("n_conflicts"), 0);
    assert_string_equal(get("a"), "before");
    assert_true(exists("d"));
}

TEST_WITH(an_interrupted_undo_is_undone_first, enter, leave)
{
    struct error err = {0};
    char id[32], path[128];

    put("a", "before");
    begin(ONE, "me");
    do_write("a", "after");
    end(ONE);
    undo(ONE);
    (void)snprintf(id, sizeof(id), "%s", json_string_value(json_object_get(answer, "undo")));
    /* As if it had been killed. */
    (void)snprintf(path, sizeof(path), "state/belljar/undo/%s/end.json", id);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(try_undo(ONE, NULL, false, &err), -1);
    assert_error(&err, E_BUSY, id);
    undo(id);
    assert_string_equal(get("a"), "after");
}

/* --- making room --- */

TEST_WITH(old_and_large_runs_go_the_oldest_first, enter, leave)
{
    struct error err = {0};
    char text[65537];

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    put("a", text);
    begin(ONE, "me");
    do_write("a", "1");
    end(ONE);
    put("a", text);
    begin(TWO, "me");
    do_write("a", "2");
    end(TWO);
    assert_int_equal(undo_store_prune(UINT64_MAX, 7, &err), 0);
    assert_int_equal(listed(NULL), 2);
    assert_int_equal(undo_store_prune(100 * KIB, 7, &err), 0);
    assert_true(is_removed(ONE));
    assert_false(is_removed(TWO));
    assert_int_equal(try_undo(ONE, NULL, true, &err), -1);
    assert_error(&err, E_NOT_FOUND, "removed to make room");
    assert_int_equal(try_undo(TWO, NULL, true, &err), 0);
    assert_int_equal(undo_store_prune(0, 7, &err), 0);
    assert_int_equal(undo_store_prune(0, 7, &err), 0);
    assert_true(is_removed(ONE) && is_removed(TWO));
    /* Their records have the same age. */
    age(ONE);
    assert_int_equal(undo_store_prune(UINT64_MAX, 7, &err), 0);
    assert_int_equal(listed(NULL), 1);
}

/* Saves 64 KiB. */
static void save_much(const char *id, const char *owner)
{
    char text[65537];

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    put("a", text);
    begin(id, owner);
    do_write("a", id);
    end(id);
}

TEST_WITH(nobody_pushes_out_what_is_anothers, enter, leave)
{
    struct error err = {0};
    char id[32];

    save_much(ONE, "me");
    for (int i = 10; i < 20; i++) {
        (void)snprintf(id, sizeof(id), "run_000000000000000000000000%d", i);
        save_much(id, "them");
        assert_int_equal(undo_store_prune(200 * KIB, 7, &err), 0);
    }
    assert_false(is_removed(ONE));
    assert_true(is_removed("run_00000000000000000000000010"));
    assert_true(is_removed("run_00000000000000000000000017"));
    assert_false(is_removed("run_00000000000000000000000019"));
    assert_int_equal(listed("me"), 1);
}

/* Nor a run that goes on, and cannot be removed. */
TEST_WITH(a_run_that_goes_on_pushes_out_nothing_of_others, enter, leave)
{
    struct error err = {0};
    char text[3 * 65536 + 1];

    save_much(ONE, "me");
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    put("a", text);
    begin(TWO, "them");
    do_write("a", "2");
    assert_int_equal(undo_store_prune(200 * KIB, 7, &err), 0);
    assert_false(is_removed(ONE));
    end(TWO);
    assert_int_equal(undo_store_prune(200 * KIB, 7, &err), 0);
    assert_false(is_removed(ONE));
    assert_true(is_removed(TWO));
}

TEST_WITH(leftovers_are_removed, enter, leave)
{
    struct error err = {0};

    begin(ONE, "me");
    do_write("new", "x");
    end(ONE);
    /* Killed while it was being removed. */
    assert_int_equal(rename("state/belljar/undo/" ONE, "state/belljar/undo/.gone-" ONE), 0);
    assert_int_equal(listed(NULL), 0);
    assert_int_equal(undo_store_prune(UINT64_MAX, 7, &err), 0);
    assert_int_equal(access("state/belljar/undo/.gone-" ONE, F_OK), -1);
}

TEST_WITH(the_store_is_private, enter, leave)
{
    struct stat st;

    begin(ONE, "me");
    do_write("new", "x");
    end(ONE);
    assert_int_equal(stat("state/belljar/undo", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(stat("state/belljar/undo/" ONE "/changes", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
}

/* The sandbox cannot change the place where an undo works. */
TEST_WITH(the_sandbox_has_the_journal_alone, enter, leave)
{
    char path[4096];
    struct run_grant grant = {path, scene.grant, RUN_GRANT_RW};
    const struct undo_store_run run = {
        .id = ONE, .owner = "me", .grants = &grant, .n_grants = 1, .uid = 4242, .gid = 4242};
    struct error err = {0};
    struct stat st;

    if (geteuid() != 0)
        return;
    (void)snprintf(path, sizeof(path), "/grant");
    assert_int_equal(undo_store_begin(&run, &run_dir, &err), 0);
    assert_int_equal(fstat(run_dir, &st), 0);
    assert_int_equal(st.st_uid, 4242);
    assert_int_equal(stat("state/belljar/undo/" ONE, &st), 0);
    assert_int_equal(st.st_uid, 0);
    assert_int_equal(stat("state/belljar/undo/" ONE "/meta.json", &st), 0);
    assert_int_equal(st.st_uid, 0);
}

UNIT_MAIN()
