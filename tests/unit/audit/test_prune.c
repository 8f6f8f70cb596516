/* Old files that go on purpose, and those that somebody takes. */
#include "place.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "audit/segment.h"
#include "audit/trail_internal.h"
#include "base/cleanup.h"

#define FILE_BYTES 4096

static struct buf found;
static int days_ahead;

/* In front of the C library's. */
time_t time(time_t *ret)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    now.tv_sec += (time_t)days_ahead * 24 * 60 * 60;
    if (ret)
        *ret = now.tv_sec;
    return now.tv_sec;
}

static void fill(size_t count, uint64_t max_bytes, uint64_t max_days)
{
    const struct trail_options options = {.dir = place,
                                          .key_dir = place_key,
                                          .file_bytes = FILE_BYTES,
                                          .max_bytes = max_bytes,
                                          .max_days = max_days};
    struct trail *trail = NULL;

    assert_int_equal(trail_open(&options, &trail, NULL), 0);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(place_append(trail, "one of many", NULL, NULL), 0);
    trail_close(trail);
}

/* The first sequence numbers of the files. */
static size_t list(uint64_t **ret_list)
{
    cleanup_close int dir = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    size_t count = 0;

    assert_int_equal(segment_list(dir, ret_list, &count, NULL), 0);
    return count;
}

static void take_away(uint64_t first)
{
    char name[SEGMENT_NAME_SIZE], path[256];

    segment_name(first, name);
    place_path(name, path);
    assert_int_equal(unlink(path), 0);
}

TEST(too_much_goes_from_the_oldest_end)
{
    cleanup_free uint64_t *files = NULL;
    struct verify_result result;
    char text[64];

    place_clear();
    fill(200, 4 * FILE_BYTES, 0);
    if (place_verify(&found, &result))
        fail_msg("%s", buf_str(&found));
    assert_in_range(result.bytes, FILE_BYTES, 5 * FILE_BYTES);
    assert_true(list(&files) >= 2 && files[0] > 1);
    (void)snprintf(text, sizeof(text), "it begins with record %" PRIu64 ":", files[0]);
    assert_contains(buf_str(&found), text);
    assert_contains(buf_str(&found), "removed on purpose");
    /* without a limit everything stays from there on */
    fill(100, 0, 0);
    assert_int_equal(place_verify(&found, &result), 0);
    assert_true(result.bytes > 5 * FILE_BYTES);
}

TEST(what_somebody_else_takes_is_missing)
{
    cleanup_free uint64_t *files = NULL;

    place_clear();
    fill(200, 6 * FILE_BYTES, 0);
    assert_true(list(&files) >= 3);
    take_away(files[0]);
    assert_int_equal(place_verify(&found, NULL), 1);
    assert_contains(buf_str(&found), "are missing, and no record mentions their removal");
    /* and stays so, whatever is written and removed later within the limits */
    fill(1, 0, 0);
    assert_int_equal(place_verify(&found, NULL), 1);
}

TEST(a_first_file_that_was_never_removed_is_missing)
{
    place_clear();
    fill(100, 0, 0);
    assert_int_equal(place_verify(&found, NULL), 0);
    take_away(1);
    assert_int_equal(place_verify(&found, NULL), 1);
    assert_contains(buf_str(&found), "are missing");
}

TEST(what_is_old_goes)
{
    cleanup_free uint64_t *before = NULL, *after = NULL;

    place_clear();
    days_ahead = 0;
    fill(100, 0, 7);
    assert_true(list(&before) > 2 && before[0] == 1);
    days_ahead = 6;
    fill(0, 0, 7);
    assert_int_equal(place_verify(&found, NULL), 0);
    assert_null(strstr(buf_str(&found), "removed on purpose"));
    days_ahead = 8; /* opening it is enough; the one that is written to stays */
    fill(0, 0, 7);
    days_ahead = 0;
    assert_int_equal(list(&after), 1);
    assert_int_equal(place_verify(&found, NULL), 0);
    assert_contains(buf_str(&found), "removed on purpose");
}

/* The record was written, and the file is still there: the power went. */
TEST(a_removal_that_did_not_happen_is_no_harm)
{
    cleanup_free uint64_t *before = NULL, *after = NULL;
    struct buf files[32] = {{0}};
    char name[SEGMENT_NAME_SIZE];
    size_t count, gone = 0;

    place_clear();
    fill(150, 0, 0);
    count = list(&before);
    assert_in_range(count, 5, ARRAY_SIZE(files));
    for (size_t i = 0; i < count; i++) {
        segment_name(before[i], name);
        place_read(name, &files[i]);
    }
    fill(0, 3 * FILE_BYTES, 0);
    (void)list(&after);
    while (gone < count && before[gone] != after[0])
        gone++;
    assert_in_range(gone, 2, count - 1);
    /* the last of those that went comes back */
    segment_name(before[gone - 1], name);
    place_write(name, files[gone - 1].data, files[gone - 1].len);
    if (place_verify(&found, NULL))
        fail_msg("%s", buf_str(&found));
    fill(1, 3 * FILE_BYTES, 0);
    assert_int_equal(place_verify(&found, NULL), 0);
    for (size_t i = 0; i < count; i++)
        buf_done(&files[i]);
}

TEST(what_was_taken_before_shows_after_a_removal)
{
    cleanup_free uint64_t *files = NULL;

    place_clear();
    fill(200, 8 * FILE_BYTES, 0);
    assert_true(list(&files) >= 4);
    take_away(files[0]);
    fill(0, 4 * FILE_BYTES, 0);
    assert_true(place_verify(&found, NULL) > 0);
    assert_contains(buf_str(&found), "were missing before older files were removed");
}

TEST(what_was_removed_cannot_be_compared)
{
    struct record_mark mark = {.seq = 2, .time = "2026-01-31T12:00:00.000Z"};

    place_clear();
    fill(200, 4 * FILE_BYTES, 0);
    assert_int_equal(place_verify_against(&mark, &found, NULL), 1);
    assert_contains(buf_str(&found), "was removed and cannot be compared");
}

/* Files that are not as they should be are evidence. */
TEST(nothing_goes_where_something_is_wrong)
{
    cleanup_free uint64_t *files = NULL, *after = NULL;
    cleanup(buf_done) struct buf second = {0};
    char name[SEGMENT_NAME_SIZE];
    size_t count;

    place_clear();
    fill(100, 0, 0);
    count = list(&files);
    assert_true(count > 3);
    segment_name(files[1], name);
    place_read(name, &second);
    second.data[30] ^= 1;
    place_write(name, second.data, second.len);
    fill(1, FILE_BYTES, 0);
    assert_true(list(&after) >= count && after[0] == 1);
}

static int make(void **state)
{
    buf_init(&found, MIB);
    return place_make(state);
}

static int clear(void **state)
{
    buf_done(&found);
    return place_remove(state);
}

UNIT_MAIN_WITH(make, clear)
