#include "place.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "base/cleanup.h"

#define FIRST "0000000000000001.jsonl"

static struct buf found;

TEST(files_are_for_their_user_alone)
{
    static const char *const names[] = {FIRST, "head.json", "lock"};
    struct stat st;
    char path[256];

    place_fill(1, PLACE_FILE_BYTES);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        place_path(names[i], path);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
    }
    (void)snprintf(path, sizeof(path), "%s/%s", place_key, TRAIL_KEY_NAME);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
}

TEST(a_directory_of_others_is_refused)
{
    const struct trail_options options = {
        .dir = place, .key_dir = place_key, .file_bytes = PLACE_FILE_BYTES};
    struct trail *trail = NULL;
    struct error err = {0};

    place_clear();
    assert_int_equal(chmod(place, 0770), 0);
    assert_true(trail_open(&options, &trail, &err) < 0);
    assert_error(&err, E_DENIED, "is not a directory that you alone can write to");
    assert_int_equal(chmod(place, 0700), 0);
}

TEST(a_key_that_others_can_read_is_refused)
{
    const struct trail_options options = {
        .dir = place, .key_dir = place_key, .file_bytes = PLACE_FILE_BYTES};
    struct trail *trail = NULL;
    struct error err = {0};
    char path[256];

    place_fill(1, PLACE_FILE_BYTES);
    (void)snprintf(path, sizeof(path), "%s/%s", place_key, TRAIL_KEY_NAME);
    assert_int_equal(chmod(path, 0640), 0);
    assert_true(trail_open(&options, &trail, &err) < 0);
    assert_error(&err, E_DENIED, "others can read the key of the trail");
}

TEST(lines_are_json_whatever_the_text)
{
    static const char text[] =
        "\"\\\n\t\r\b\x01\x7f\xff\xc3\xa4\xe2\x80\xa8 \xf0\x9f\x90\x8d\xc2\x9b\xc3";
    cleanup(buf_done) struct buf lines;
    struct trail *trail;
    const char *line;
    json_t *object;

    place_clear();
    trail = place_open(PLACE_FILE_BYTES);
    assert_int_equal(place_append(trail, text, NULL, NULL), 0);
    trail_close(trail);
    place_read(FIRST, &lines);
    line = strchr(lines.data, '\n') + 1;
    object = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(object);
    assert_string_equal(json_string_value(json_object_get(object, "text")),
                        "\"\\\n\t\r\b\x01\x7f\xef\xbf\xbd\xc3\xa4\xe2\x80\xa8 "
                        "\xf0\x9f\x90\x8d\xc2\x9b\xef\xbf\xbd");
    assert_contains(line, "\\u009b"); /* which some terminals would obey */
    json_decref(object);
}

TEST(a_word_that_is_none_is_not_stored)
{
    cleanup(record_done) struct record record = {0};
    struct error err = {0};
    struct trail *trail;

    place_clear();
    trail = place_open(PLACE_FILE_BYTES);
    record_init(&record, "test");
    record_word(&record, "name", "may be \"anything\"");
    assert_true(trail_append(trail, &record, TRAIL_EVENT, NULL, &err) < 0);
    assert_error(&err, E_SYSTEM, "record");
    trail_close(trail);
    assert_int_equal(place_verify(&found, NULL), 0);
}

/* A process that was killed while it wrote the last record, at each of its bytes. */
TEST(a_torn_end_is_set_aside_wherever_it_is_torn)
{
    cleanup(buf_done) struct buf whole, head;
    size_t before;

    place_clear();
    place_fill(3, PLACE_FILE_BYTES);
    place_read(FIRST, &whole);
    place_read("head.json", &head);
    before = whole.len;
    buf_done(&whole);
    {
        struct trail *trail = place_open(PLACE_FILE_BYTES);

        assert_int_equal(place_append(trail, "the last one", NULL, NULL), 0);
        trail_close(trail);
    }
    place_read(FIRST, &whole);
    for (size_t len = before; len < whole.len; len++) {
        struct verify_result result;
        struct trail *trail;

        place_write(FIRST, whole.data, len);
        place_write("head.json", head.data, head.len); /* it was not signed for yet */
        trail = place_open(PLACE_FILE_BYTES);
        assert_int_equal(place_append(trail, "afterwards", NULL, NULL), 0);
        trail_close(trail);
        if (place_verify(&found, &result))
            fail_msg("torn at byte %zu: %s", len - before, buf_str(&found));
        assert_int_equal(result.records, len == before ? 5 : 6);
        if (len == before)
            continue;
        assert_contains(place_notes, "the end of the trail was torn");
        assert_contains(buf_str(&found), "a torn end was repaired");
        {
            char name[64];
            cleanup(buf_done) struct buf torn;

            (void)snprintf(name, sizeof(name), "torn-%016d-%zu", 4, before);
            place_read(name, &torn);
            assert_int_equal(torn.len, len - before);
            assert_memory_equal(torn.data, whole.data + before, torn.len);
        }
    }
}

/* A machine that lost power may find zeros, or anything, where it has not written yet. */
TEST(garbage_at_the_end_is_set_aside)
{
    static char garbage[300000];
    cleanup(buf_done) struct buf text;

    place_fill(3, PLACE_FILE_BYTES);
    memset(garbage + 100000, '\n', 100000);
    memset(garbage + 200000, '{', 100000);
    place_read(FIRST, &text);
    assert_int_equal(buf_add(&text, garbage, sizeof(garbage), NULL), 0);
    place_write(FIRST, text.data, text.len);
    assert_true(place_verify(&found, NULL) > 0);
    trail_close(place_open(PLACE_FILE_BYTES));
    if (place_verify(&found, NULL))
        fail_msg("%s", buf_str(&found));
}

/* A process that was killed between two files. */
TEST(an_empty_file_at_the_end_is_used)
{
    struct verify_result result;
    struct trail *trail;
    char name[SEGMENT_NAME_SIZE];
    char path[256];

    place_fill(100, 4096);
    assert_int_equal(place_verify(&found, &result), 0);
    trail = place_open(1); /* every record is a file's last */
    assert_int_equal(place_append(trail, "another", NULL, NULL), 0);
    trail_close(trail);
    assert_int_equal(place_verify(&found, &result), 0);
    segment_name(result.last.seq, name);
    place_path(name, path);
    assert_int_equal(truncate(path, 0), 0);
    trail = place_open(4096);
    assert_int_equal(place_append(trail, "again", NULL, NULL), 0);
    trail_close(trail);
    assert_int_equal(place_verify(&found, &result),
                     1); /* the head knew of the record that is gone */
    assert_contains(buf_str(&found), "missing, which was noticed at");
}

/* The first start, ended at any point before the key is in its place. */
TEST(a_trail_that_never_began_begins_anew)
{
    char path[256];

    place_fill(0, PLACE_FILE_BYTES);
    (void)snprintf(path, sizeof(path), "%s/%s", place_key, TRAIL_KEY_NAME);
    assert_int_equal(unlink(path), 0);
    trail_close(place_open(PLACE_FILE_BYTES));
    assert_string_equal(place_notes, "");
    assert_int_equal(place_verify(&found, NULL), 0);
}

TEST(another_key_is_written_down)
{
    char path[256];

    place_fill(3, PLACE_FILE_BYTES);
    (void)snprintf(path, sizeof(path), "%s/%s", place_key, TRAIL_KEY_NAME);
    assert_int_equal(unlink(path), 0);
    trail_close(place_open(PLACE_FILE_BYTES));
    assert_contains(place_notes, "head_damaged");
    assert_true(place_verify(&found, NULL) > 0);
}

/* --- several at once --- */

#define WRITERS 4
#define EACH    200

static void write_many(int number)
{
    const struct trail_options options = {
        .dir = place, .key_dir = place_key, .file_bytes = 64 * KIB};
    struct trail *trail = NULL;
    char text[64];

    if (trail_open(&options, &trail, NULL) < 0)
        _exit(2);
    for (int i = 0; i < EACH; i++) {
        (void)snprintf(text, sizeof(text), "writer %d, record %d", number, i);
        if (place_append(trail, text, NULL, NULL) < 0)
            _exit(1);
    }
    trail_close(trail);
    _exit(0);
}

TEST(processes_take_turns)
{
    struct verify_result result;
    pid_t children[WRITERS];

    place_clear();
    for (int i = 0; i < WRITERS; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0)
            write_many(i);
    }
    for (int i = 0; i < WRITERS; i++) {
        int status;

        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    if (place_verify(&found, &result))
        fail_msg("%s", buf_str(&found));
    assert_int_equal(result.records, 1 + WRITERS * EACH + result.files - 1);
    assert_true(result.files > 2);
}

TEST(a_stopped_writer_does_not_stop_others)
{
    cleanup_close int lock = -1;
    struct flock region = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct trail *trail;
    struct error err = {0};
    int ready[2];
    char path[256], byte;
    pid_t child;

    place_clear();
    trail = place_open(PLACE_FILE_BYTES);
    place_path("lock", path);
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    child = fork();
    if (child == 0) {
        lock = open(path, O_RDWR | O_CLOEXEC);
        if (fcntl(lock, F_SETLK, &region) < 0 || write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            (void)pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_true(place_append(trail, "waits", NULL, &err) < 0);
    assert_error(&err, E_BUSY, "another process holds the trail");
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(place_append(trail, "goes on", NULL, &err), 0);
    trail_close(trail);
    (void)close(ready[0]);
    (void)close(ready[1]);
    assert_int_equal(place_verify(&found, NULL), 0);
}

/* --- the loop --- */

static void stop(void *arg)
{
    loop_stop(arg);
}

TEST(the_head_is_signed_while_nobody_waits)
{
    struct trail_options options = {
        .dir = place, .key_dir = place_key, .file_bytes = PLACE_FILE_BYTES};
    struct verify_result result = {0};
    struct trail *trail = NULL;
    struct loop_watch *timer;

    place_clear();
    options.loop = loop_new(NULL);
    timer = loop_timer(options.loop, stop, options.loop);
    assert_int_equal(trail_open(&options, &trail, NULL), 0);
    assert_int_equal(place_append(trail, "one", NULL, NULL), 0);
    assert_int_equal(place_append(trail, "two", NULL, NULL), 0);
    assert_int_equal(place_verify(&found, &result), 0);
    assert_int_equal(result.n_unsigned, 2);
    for (int i = 0; i < 100 && result.n_unsigned; i++) {
        loop_timer_start(timer, 100);
        assert_int_equal(loop_run(options.loop, NULL), 0);
        assert_int_equal(place_verify(&found, &result), 0);
    }
    assert_int_equal(result.n_unsigned, 0);
    assert_int_equal(place_append(trail, "three", NULL, NULL), 0);
    trail_close(trail);
    assert_int_equal(place_verify(&found, &result), 0);
    assert_int_equal(result.n_unsigned, 0);
    loop_watch_free(timer);
    loop_free(options.loop);
}

int main(void)
{
    int r;

    buf_init(&found, SIZE_MAX / 2);
    r = unit_run(place_make, place_remove);
    buf_done(&found);
    return r;
}
