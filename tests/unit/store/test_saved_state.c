#include "own_store.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "store/saved_state.h"

static void create(const char *owner, const char *name)
{
    struct error err = {0};
    bool is_new = false;

    if (saved_state_create(store, owner, name, NULL, &is_new, &err) < 0)
        fail_msg("%s", err.message);
}

static int64_t save(const char *owner, const char *name, const char *state)
{
    struct error err = {0};
    int64_t version = 0;

    if (saved_state_save(store, owner, name, (struct span){state, strlen(state)}, -1, &version,
                         &err) < 0)
        fail_msg("%s", err.message);
    return version;
}

static json_t *load(const char *owner, const char *name, int64_t version)
{
    struct error err = {0};
    json_t *work = NULL;

    if (saved_state_load(store, owner, name, version, &work, &err) < 0)
        fail_msg("%s", err.message);
    return work;
}

static void reopen(void)
{
    store_free(store);
    store = store_new(path);
}

TEST_WITH(no_file_before_something_is_asked_for, set_up, tear_down)
{
    struct stat st;

    assert_int_equal(stat(path, &st), -1);
    create("ann", "x");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
}

TEST_WITH(a_state_comes_back_from_another_store, set_up, tear_down)
{
    json_t *work;

    create("ann", "x");
    assert_int_equal(save("ann", "x", "{\"a\":\"\\u0000\xc3\xa9\",\"b\":[1,2.5,null]}"), 1);
    reopen();
    work = load("ann", "x", 0);
    assert_int_equal(json_integer_value(json_object_get(work, "version")), 1);
    assert_int_equal(json_string_length(json_object_get(json_object_get(work, "state"), "a")), 3);
    assert_int_equal(json_array_size(json_object_get(work, "history")), 1);
    json_decref(work);
}

TEST_WITH(before_the_first_save_the_state_is_empty, set_up, tear_down)
{
    json_t *work;

    create("ann", "x");
    work = load("ann", "x", 0);
    assert_int_equal(json_object_size(json_object_get(work, "state")), 0);
    assert_int_equal(json_integer_value(json_object_get(work, "version")), 0);
    json_decref(work);
}

TEST_WITH(creating_it_again_keeps_what_was_saved, set_up, tear_down)
{
    struct error err = {0};
    bool is_new = true;
    json_t *work;

    create("ann", "x");
    (void)save("ann", "x", "{\"n\":1}");
    assert_int_equal(saved_state_create(store, "ann", "x", "words", &is_new, &err), 0);
    assert_false(is_new);
    work = load("ann", "x", 0);
    assert_string_equal(json_string_value(json_object_get(work, "description")), "words");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(work, "state"), "n")), 1);
    json_decref(work);
}

TEST_WITH(nobody_finds_what_is_anothers, set_up, tear_down)
{
    struct error err = {0};
    json_t *list = NULL, *work = NULL;
    int64_t version = 0;

    create("ann", "x");
    (void)save("ann", "x", "{}");
    assert_int_equal(saved_state_load(store, "bob", "x", 0, &work, &err), -1);
    assert_int_equal(err.code, E_NOT_FOUND);
    error_done(&err);
    assert_int_equal(
        saved_state_save(store, "bob", "x", (struct span){"{}", 2}, -1, &version, &err), -1);
    error_done(&err);
    assert_int_equal(saved_state_delete(store, "bob", "x", &err), -1);
    error_done(&err);
    assert_int_equal(saved_state_list(store, "bob", &list, &err), 0);
    assert_int_equal(json_array_size(list), 0);
    json_decref(list);
}

TEST_WITH(names_that_are_paths_or_worse_are_refused, set_up, tear_down)
{
    static const char *const bad[] = {
        "",
        "../x",
        "a/b",
        ".hidden",
        "-x",
        "a b",
        "a\nb",
        "é",
        "x'; --",
        "_x",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct error err = {0};
        bool is_new;

        assert_int_equal(saved_state_create(store, "ann", bad[i], NULL, &is_new, &err), -1);
        assert_int_equal(err.code, E_INVALID);
        error_done(&err);
    }
}

TEST_WITH(a_save_made_from_an_older_version_is_refused, set_up, tear_down)
{
    struct error err = {0};
    int64_t version = 0;

    create("ann", "x");
    (void)save("ann", "x", "{}");
    (void)save("ann", "x", "{}");
    assert_int_equal(saved_state_save(store, "ann", "x", (struct span){"{}", 2}, 1, &version, &err),
                     -1);
    assert_contains(err.message, "its version is 2");
    error_done(&err);
    assert_int_equal(saved_state_save(store, "ann", "x", (struct span){"{}", 2}, 2, &version, &err),
                     0);
    assert_int_equal(version, 3);
}

TEST_WITH(history_is_bounded_and_can_be_gone_back_to, set_up, tear_down)
{
    struct error err = {0};
    json_t *work = NULL;

    create("ann", "x");
    for (int i = 1; i <= LIMIT_WORK_HISTORY + 5; i++) {
        char text[32];

        (void)snprintf(text, sizeof(text), "{\"n\":%d}", i);
        (void)save("ann", "x", text);
    }
    assert_int_equal(saved_state_load(store, "ann", "x", 5, &work, &err), -1);
    assert_int_equal(err.code, E_NOT_FOUND);
    error_done(&err);
    work = load("ann", "x", 6);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(work, "state"), "n")), 6);
    assert_int_equal(json_array_size(json_object_get(work, "history")), LIMIT_WORK_HISTORY);
    json_decref(work);
}

TEST_WITH(bytes_of_one_are_bounded_and_the_newest_stays, set_up, tear_down)
{
    cleanup_free char *text = malloc(LIMIT_STATE_BYTES + 1);
    struct error err = {0};
    int64_t version = 0;
    json_t *work;

    assert_non_null(text);
    memset(text, 'x', LIMIT_STATE_BYTES);
    memcpy(text, "{\"a\":\"", 6);
    memcpy(text + LIMIT_STATE_BYTES - 2, "\"}", 2);
    text[LIMIT_STATE_BYTES] = '\0';
    create("ann", "x");
    for (int i = 0; i < 12; i++)
        (void)save("ann", "x", text);
    work = load("ann", "x", 0);
    assert_int_equal(json_integer_value(json_object_get(work, "version")), 12);
    assert_int_equal(json_array_size(json_object_get(work, "history")),
                     LIMIT_WORK_BYTES / LIMIT_STATE_BYTES);
    json_decref(work);
    assert_int_equal(saved_state_save(store, "ann", "x", (struct span){text, LIMIT_STATE_BYTES + 1},
                                      -1, &version, &err),
                     -1);
    assert_int_equal(err.code, E_TOO_LARGE);
    error_done(&err);
}

TEST_WITH(all_states_of_an_owner_are_bounded, set_up, tear_down)
{
    cleanup_free char *text = calloc(1, LIMIT_STATE_BYTES);
    struct error err = {0};
    int64_t version = 0;
    bool is_new, is_full = false;

    assert_non_null(text);
    for (int i = 0; i < 10 && !is_full; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "x%d", i);
        assert_int_equal(saved_state_create(store, "ann", name, NULL, &is_new, &err), 0);
        for (int k = 0; k < 8 && !is_full; k++)
            is_full = saved_state_save(store, "ann", name, (struct span){text, LIMIT_STATE_BYTES},
                                       -1, &version, &err) < 0;
    }
    assert_true(is_full);
    assert_int_equal(err.code, E_TOO_LARGE);
    error_done(&err);
    create("bob", "x");
    assert_int_equal(save("bob", "x", "{}"), 1);
}

static void writer(int number)
{
    struct store *own = store_new(path);
    char text[32];

    for (int i = 0; own && i < 20; i++) {
        int64_t version = 0;

        (void)snprintf(text, sizeof(text), "{\"w\":%d,\"i\":%d}", number, i);
        if (saved_state_save(own, "ann", "x", (struct span){text, strlen(text)}, -1, &version,
                             NULL) < 0)
            _exit(1);
    }
    _exit(own ? 0 : 1);
}

TEST_WITH(writers_at_the_same_time_lose_no_save, set_up, tear_down)
{
    unsigned seen[4] = {0};
    json_t *work;

    create("ann", "x");
    reopen(); /* no connection is open across the fork */
    for (int i = 0; i < 4; i++) {
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0)
            writer(i);
    }
    for (int i = 0; i < 4; i++) {
        int status = -1;

        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    for (int v = 1; v <= 80; v++) {
        const json_t *kept;

        work = load("ann", "x", v);
        kept = json_object_get(work, "state");
        /* The saves of each writer come in order. */
        assert_int_equal(json_integer_value(json_object_get(kept, "i")),
                         seen[json_integer_value(json_object_get(kept, "w"))]++);
        json_decref(work);
    }
}

TEST_WITH(what_was_saved_survives_a_kill, set_up, tear_down)
{
    int ends[2], status;
    json_t *work;
    char byte;
    pid_t pid;

    create("ann", "x");
    reopen();
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int64_t version = 0;

        store = store_new(path);
        if (saved_state_save(store, "ann", "x", (struct span){"{\"n\":7}", 7}, -1, &version,
                             NULL) == 0)
            (void)!write(ends[1], "x", 1);
        /* And dies with a change begun. */
        (void)store_begin(store, NULL);
        (void)store_do(store, NULL, "DELETE FROM work", "");
        (void)!write(ends[1], "y", 1);
        for (;;)
            (void)pause();
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    (void)close(ends[0]);
    (void)close(ends[1]);
    work = load("ann", "x", 0);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(work, "state"), "n")), 7);
    json_decref(work);
}

TEST_WITH(deleting_takes_the_history_along, set_up, tear_down)
{
    struct error err = {0};
    int64_t count = -1;

    create("ann", "x");
    (void)save("ann", "x", "{}");
    assert_int_equal(saved_state_delete(store, "ann", "x", &err), 0);
    assert_int_equal(store_number(store, -1, &count, &err, "SELECT COUNT(*) FROM save", ""), 0);
    assert_int_equal(count, 0);
    assert_int_equal(saved_state_delete(store, "ann", "x", &err), -1);
    assert_int_equal(err.code, E_NOT_FOUND);
    error_done(&err);
}

TEST_WITH(a_file_that_others_can_read_or_a_link_is_refused, set_up, tear_down)
{
    struct error err = {0};
    bool is_new;

    (void)close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(saved_state_create(store, "ann", "x", NULL, &is_new, &err), -1);
    assert_int_equal(err.code, E_DENIED);
    error_done(&err);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/dev/null", path), 0);
    assert_int_equal(saved_state_create(store, "ann", "x", NULL, &is_new, &err), -1);
    error_done(&err);
}

TEST_WITH(a_file_that_is_none_of_ours_stays_as_it_is, set_up, tear_down)
{
    struct error err = {0};
    struct stat st;
    bool is_new;
    int fd;

    fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, "this is no database, but somebody's letter", 42), 42);
    (void)close(fd);
    assert_int_equal(saved_state_create(store, "ann", "x", NULL, &is_new, &err), -1);
    assert_int_equal(err.code, E_SYSTEM);
    error_done(&err);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, 42);
}

UNIT_MAIN_WITH(NULL, remove_dir)
