/* A server's store: the loop never waits for the disk, and what is on the disk is whole. */
#include "own_store.h"

#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/loop.h"
#include "store/saved_state.h"

#define STATE_BYTES ((size_t)900 << 10)

static struct loop *loop;
static char *text;
static unsigned n_syncs;

/* In place of the C library's, for SQLite as well. */
int fsync(int fd)
{
    n_syncs++;
    return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    n_syncs++;
    return (int)syscall(SYS_fdatasync, fd);
}

static void skip_without_aio(void)
{
    aio_context_t context = 0;

    if (syscall(SYS_io_setup, 1U, &context) < 0)
        skip();
    (void)syscall(SYS_io_destroy, context);
}

static int begin(void **state)
{
    bool is_new;

    if (set_up(state) < 0 || saved_state_create(store, "a", "s", NULL, &is_new, NULL) < 0)
        return -1;
    store_free(store);
    store = store_new(path);
    loop = loop_new(NULL);
    text = malloc(STATE_BYTES + 1);
    n_syncs = 0;
    return store && loop && text ? 0 : -1;
}

static int end(void **state)
{
    int r = tear_down(state);

    loop_free(loop);
    free(text);
    return r;
}

static int save(size_t number, struct error *err)
{
    int64_t version = 0;

    memset(text, 'a' + (int)(number % 26), STATE_BYTES);
    memcpy(text, "{\"a\":\"", 6);
    memcpy(text + STATE_BYTES - 2, "\"}", 3);
    return saved_state_save(store, "a", "s", (struct span){text, STATE_BYTES}, -1, &version, err);
}

static void stop(void *arg)
{
    loop_stop(arg);
}

/* The loop goes on for a moment. */
static void turn(void)
{
    struct loop_watch *timer = loop_timer(loop, stop, loop);

    loop_timer_start(timer, 1);
    assert_return_code(loop_run(loop, NULL), 0);
    loop_watch_free(timer);
}

static off_t log_bytes(void)
{
    char name[96];
    struct stat st = {0};

    (void)snprintf(name, sizeof(name), "%s-wal", path);
    (void)stat(name, &st);
    return st.st_size;
}

/* A log of less than a MiB is left as it is: then one more save makes it long enough. */
static void wait_for_the_end(void)
{
    for (size_t i = 1; log_bytes() > 0 && i < 20000; i++) {
        if (i % 1000 == 0)
            (void)save(i, NULL);
        turn();
    }
    assert_int_equal(log_bytes(), 0);
}

TEST_WITH(without_a_loop_sqlite_waits_for_the_disk, begin, end)
{
    for (size_t i = 0; i < 4; i++)
        assert_return_code(save(i, NULL), 0);
    assert_true(n_syncs > 0);
}

TEST_WITH(a_server_never_waits_for_the_disk, begin, end)
{
    struct error err = {0};
    json_t *work = NULL;

    skip_without_aio();
    store_attend(store, loop);
    n_syncs = 0;
    for (size_t i = 0; i < 40; i++) {
        while (save(i, &err) < 0) { /* the disk is slow: refused, and the loop goes on */
            assert_int_equal(err.code, E_BUSY);
            error_done(&err);
            turn();
        }
        turn();
        assert_true(log_bytes() < 24 << 20);
    }
    wait_for_the_end();
    assert_int_equal(n_syncs, 0);
    assert_return_code(saved_state_load(store, "a", "s", 0, &work, NULL), 0);
    assert_in_range(json_integer_value(json_object_get(work, "version")), 40, 60);
    json_decref(work);
}

TEST_WITH(writers_are_refused_when_the_disk_is_far_behind, begin, end)
{
    struct error err = {0};
    size_t i = 0;

    skip_without_aio();
    store_attend(store, loop);
    while (i < 100 && save(i, &err) == 0)
        i++;
    assert_in_range(i, 2, 40);
    assert_error(&err, E_BUSY, "the disk does not keep up");
    wait_for_the_end();
    assert_return_code(save(i, NULL), 0);
}

static void copy_file(const char *from, const char *to)
{
    static char data[1 << 20];
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ssize_t n;

    assert_true(out >= 0);
    while (in >= 0 && (n = read(in, data, sizeof(data))) > 0)
        assert_int_equal(write(out, data, (size_t)n), n);
    (void)close(out);
}

/* A kill leaves what is in the files at that moment. The descriptors of the file stay open: closing
 * one would take SQLite's locks. */
TEST_WITH(what_is_in_the_files_is_whole_at_any_moment, begin, end)
{
    static const char *const ends[] = {"", "-wal"};
    char from[96], to[96], copy[80], shm[96];

    store_attend(store, loop);
    (void)snprintf(copy, sizeof(copy), "%s-copy", path);
    (void)snprintf(shm, sizeof(shm), "%s-shm", copy);
    for (size_t i = 0; i < 12; i++) {
        struct store *other = store_new(copy);
        json_t *work = NULL;

        while (save(i, NULL) < 0)
            turn();
        for (size_t n = i % 4; n > 0; n--)
            turn();
        for (size_t e = 0; e < ARRAY_SIZE(ends); e++) {
            (void)snprintf(from, sizeof(from), "%s%s", path, ends[e]);
            (void)snprintf(to, sizeof(to), "%s%s", copy, ends[e]);
            copy_file(from, to);
        }
        assert_return_code(saved_state_load(other, "a", "s", 0, &work, NULL), 0);
        assert_int_equal(json_integer_value(json_object_get(work, "version")), i + 1);
        assert_int_equal(json_string_length(json_object_get(json_object_get(work, "state"), "a")),
                         STATE_BYTES - 8);
        json_decref(work);
        store_free(other);
        (void)unlink(to);
        (void)unlink(shm);
        (void)unlink(copy);
    }
}

TEST_WITH(another_process_may_use_it_too, begin, end)
{
    struct store *other = store_new(path);
    int64_t version = 0;

    store_attend(store, loop);
    for (size_t i = 0; i < 6; i++) {
        while (save(i, NULL) < 0)
            turn();
        assert_return_code(
            saved_state_save(other, "a", "s", (struct span){text, STATE_BYTES}, -1, &version, NULL),
            0);
        assert_int_equal(version, 2 * i + 2);
        turn();
    }
    store_free(other);
}

UNIT_MAIN_WITH(NULL, remove_dir)
