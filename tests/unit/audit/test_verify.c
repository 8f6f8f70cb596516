#include "place.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define FIRST "0000000000000001.jsonl"

static struct buf found;

/* A stream of numbers, the same in every run. */
static uint32_t next_random(void)
{
    static uint32_t x = 2463534242;

    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return x;
}

TEST(a_trail_that_nobody_touched_is_whole)
{
    struct verify_result result;

    place_fill(100, PLACE_FILE_BYTES);
    if (place_verify(&found, &result))
        fail_msg("%s", buf_str(&found));
    assert_int_equal(result.records, 101);
    assert_int_equal(result.n_unsigned, 0);
    assert_int_equal(found.len, 0);
}

TEST(files_follow_one_another)
{
    struct verify_result result;

    place_fill(100, 4096);
    if (place_verify(&found, &result))
        fail_msg("%s", buf_str(&found));
    assert_true(result.files > 5);
    assert_int_equal(result.records, 101 + result.files - 1);
}

/* Every byte of the trail, changed in one bit. */
TEST(every_changed_byte_is_found)
{
    cleanup(buf_done) struct buf text;

    place_fill(8, PLACE_FILE_BYTES);
    place_read(FIRST, &text);
    for (size_t i = 0; i < text.len; i++) {
        text.data[i] ^= (char)(1 << i % 7);
        place_write(FIRST, text.data, text.len);
        if (!place_verify(&found, NULL))
            fail_msg("byte %zu of %zu", i, text.len);
        text.data[i] ^= (char)(1 << i % 7);
    }
    place_write(FIRST, text.data, text.len);
    assert_int_equal(place_verify(&found, NULL), 0);
}

/* Also of the signed head. What the signature is not about is its punctuation. */
TEST(a_changed_head_is_found)
{
    cleanup(buf_done) struct buf text;

    place_fill(3, PLACE_FILE_BYTES);
    place_read("head.json", &text);
    for (size_t i = 7; i + 3 < text.len; i++) { /* behind {"v":1 */
        char before = text.data[i];

        text.data[i] = before == 'A' ? 'B' : 'A';
        place_write("head.json", text.data, text.len);
        if (!place_verify(&found, NULL))
            fail_msg("byte %zu of %zu", i, text.len);
        text.data[i] = before;
    }
    (void)state;
}

TEST(every_cut_is_found)
{
    cleanup(buf_done) struct buf text;

    place_fill(5, PLACE_FILE_BYTES);
    place_read(FIRST, &text);
    for (size_t len = 0; len < text.len; len++) {
        place_write(FIRST, text.data, len);
        if (!place_verify(&found, NULL))
            fail_msg("cut to %zu bytes", len);
    }
    assert_contains(buf_str(&found), "the end was cut off");
}

/* --- lines --- */

#define LINES_MAX 512

struct lines {
    struct buf text;
    struct {
        const char *data;
        size_t len;
    } line[LINES_MAX];
    size_t count;
};

static void read_lines(struct lines *lines)
{
    const char *at;

    place_read(FIRST, &lines->text);
    at = lines->text.data;
    for (lines->count = 0; at < lines->text.data + lines->text.len; lines->count++) {
        const char *end = strchr(at, '\n') + 1;

        lines->line[lines->count].data = at;
        lines->line[lines->count].len = (size_t)(end - at);
        at = end;
    }
}

/* The lines in the order of `order`. */
static void write_lines(const struct lines *lines, const size_t *order, size_t count)
{
    cleanup(buf_done) struct buf text;

    buf_init(&text, SIZE_MAX / 2);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(
            buf_add(&text, lines->line[order[i]].data, lines->line[order[i]].len, NULL), 0);
    place_write(FIRST, text.data, text.len);
}

TEST(random_removals_swaps_and_copies_are_found)
{
    struct lines lines;
    size_t order[LINES_MAX + 1];

    place_fill(200, PLACE_FILE_BYTES);
    read_lines(&lines);
    for (int round = 0; round < 300; round++) {
        size_t a = next_random() % lines.count, b = next_random() % lines.count;
        size_t count = 0;

        if (round % 3 == 1 && a == b)
            continue;
        for (size_t i = 0; i < lines.count; i++) {
            if (round % 3 == 0 && i == a) /* removed */
                continue;
            if (round % 3 == 2 && i == a) /* once more, elsewhere */
                order[count++] = b;
            order[count++] = round % 3 == 1 && i == a ? b : round % 3 == 1 && i == b ? a : i;
        }
        write_lines(&lines, order, count);
        if (!place_verify(&found, NULL))
            fail_msg("round %d: %zu, %zu", round, a, b);
    }
    buf_done(&lines.text);
}

TEST(it_says_where)
{
    struct lines lines;
    size_t order[] = {0, 1, 2, 4, 5, 6};
    cleanup(buf_done) struct buf text;

    place_fill(6, PLACE_FILE_BYTES);
    read_lines(&lines);
    write_lines(&lines, order, 6);
    assert_int_equal(place_verify(&found, NULL), 1);
    assert_string_equal(buf_str(&found), "problem " FIRST ":4: records 4 to 4 are missing\n");
    buf_done(&lines.text);

    place_fill(6, PLACE_FILE_BYTES);
    place_read(FIRST, &text);
    *strstr(text.data, "number 2") = 'N';
    place_write(FIRST, text.data, text.len);
    assert_int_equal(place_verify(&found, NULL), 1);
    assert_string_equal(buf_str(&found), "problem " FIRST ":4: record 4 was changed\n");
}

/* A record with a right hash that somebody without the key has made. */
TEST(a_record_of_somebody_else_is_found)
{
    static const uint8_t secret[SHA256_BYTES] = "something else";
    cleanup(record_done) struct record record = {0};
    cleanup(buf_done) struct buf text;
    struct verify_result result;
    struct record_mark mark;
    char now[32];

    place_fill(6, PLACE_FILE_BYTES);
    assert_int_equal(place_verify(&found, &result), 0);
    place_read(FIRST, &text);
    record_init(&record, "test");
    date_millis_now(now);
    assert_int_equal(record_line(&record, &result.last, now, secret, &text, &mark, NULL), 0);
    place_write(FIRST, text.data, text.len);
    assert_int_equal(place_verify(&found, NULL), 1);
    assert_contains(buf_str(&found), "record 8 was not written by the owner of the key");

    /* And the next writer does not take it for its own. */
    trail_close(place_open(PLACE_FILE_BYTES));
    assert_contains(place_notes, "foreign");
    assert_int_equal(place_verify(&found, NULL), 2);
}

/* Cut, and then used again: the new head does not cover it up. */
TEST(a_cut_is_known_for_ever)
{
    struct lines lines;
    size_t order[] = {0, 1, 2, 3};
    struct verify_result result;
    struct trail *trail;

    place_fill(6, PLACE_FILE_BYTES);
    read_lines(&lines);
    write_lines(&lines, order, 4);
    buf_done(&lines.text);
    trail = place_open(PLACE_FILE_BYTES);
    assert_contains(place_notes, "it ended with record 4 where 7 were known");
    assert_int_equal(place_append(trail, "later", NULL, NULL), 0);
    trail_close(trail);
    assert_int_equal(place_verify(&found, &result), 1);
    assert_contains(buf_str(&found), "records 5 to 7 are missing, which was noticed at");
    assert_int_equal(result.last.seq, 9);
}

/* While it is written to. */
TEST(a_cut_under_a_writer_is_known_too)
{
    struct trail *trail;
    char path[256];

    place_fill(6, PLACE_FILE_BYTES);
    trail = place_open(PLACE_FILE_BYTES);
    assert_int_equal(place_append(trail, "before", NULL, NULL), 0);
    place_path(FIRST, path);
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(place_append(trail, "after", NULL, NULL), 0);
    assert_int_equal(place_append(trail, "after", NULL, NULL), 0);
    trail_close(trail);
    assert_int_equal(place_verify(&found, NULL), 1);
    assert_contains(buf_str(&found), "records 1 to 8 are missing");
}

TEST(a_missing_head_is_found)
{
    char path[256];

    place_fill(6, PLACE_FILE_BYTES);
    place_path("head.json", path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(place_verify(&found, NULL), 1);
    trail_close(place_open(PLACE_FILE_BYTES));
    assert_contains(place_notes, "head_missing");
    assert_int_equal(place_verify(&found, NULL), 1);
}

/* Somebody without the key writes a head that knows of more than there ever was. */
TEST(a_forged_head_is_not_believed)
{
    static const char forged[] = "{\"v\":1,\"seq\":9223372036854775807,\"hash\":"
                                 "\"fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
                                 "f\",\"time\":\"\",\"key\":"
                                 "\"\",\"signature\":\"\"}";
    struct verify_result result;

    place_fill(6, PLACE_FILE_BYTES);
    place_write("head.json", forged, sizeof(forged) - 1);
    assert_int_equal(place_verify(&found, NULL), 1);
    trail_close(place_open(PLACE_FILE_BYTES));
    assert_contains(place_notes, "head_damaged");
    assert_int_equal(place_verify(&found, &result), 1);
    assert_int_equal(result.last.seq, 8);
}

TEST(all_files_gone_is_found)
{
    char path[256];

    place_fill(6, PLACE_FILE_BYTES);
    place_path(FIRST, path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(place_verify(&found, NULL), 1);
    place_path("head.json", path);
    assert_int_equal(unlink(path), 0);
    trail_close(place_open(PLACE_FILE_BYTES));
    assert_contains(place_notes, "head_missing");
    assert_true(place_verify(&found, NULL) > 0);
}

TEST(missing_and_renamed_files_are_found)
{
    char path[256], other[256];
    struct verify_result result;

    place_fill(100, 4096);
    assert_int_equal(place_verify(&found, &result), 0);
    place_path(FIRST, path);
    place_path("aside", other);
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(place_verify(&found, NULL), 1);
    assert_contains(buf_str(&found), "are missing");
    place_path("0000000000000002.jsonl", path);
    assert_int_equal(rename(other, path), 0);
    assert_int_equal(place_verify(&found, NULL), 1);
    assert_contains(buf_str(&found), "the file begins with record 1");
}

static void replace(const char *name, bool is_link)
{
    char path[256];

    place_path(name, path);
    (void)unlink(path);
    assert_int_equal(is_link ? symlink("/dev/zero", path) : mkfifo(path, 0600), 0);
}

/* A pipe would stop whoever opens it, a link leads elsewhere: nobody waits, and nobody is fooled.
 */
TEST(what_is_no_file_is_told)
{
    (void)alarm(60);
    for (int is_link = 0; is_link < 2; is_link++) {
        struct verify_result result;
        struct error err = {0};

        place_fill(6, PLACE_FILE_BYTES);
        replace("0000000000000900.jsonl", is_link);
        assert_true(verify_trail(place, &(struct verify_options){0}, &result, &err) < 0);
        assert_non_null(strstr(err.message, "0000000000000900.jsonl"));
        error_done(&err);
        place_clear();
        place_fill(6, PLACE_FILE_BYTES);
        replace("lock", is_link);
        assert_int_equal(place_verify(&found, NULL), 0);
        replace("head.json", is_link);
        assert_int_equal(place_verify(&found, NULL), 1);
        place_clear();
    }
    (void)alarm(0);
}

/* The one thing that only a recorder elsewhere can know: both put back to an earlier day. */
TEST(a_trail_that_was_put_back_is_found_with_a_witness)
{
    cleanup(buf_done) struct buf text, head;
    struct record_mark mark;
    struct trail *trail;

    place_fill(3, PLACE_FILE_BYTES);
    place_read(FIRST, &text);
    place_read("head.json", &head);
    trail = place_open(PLACE_FILE_BYTES);
    assert_int_equal(place_append(trail, "later", &mark, NULL), 0);
    trail_close(trail);
    assert_int_equal(place_verify_against(&mark, &found, NULL), 0);
    place_write(FIRST, text.data, text.len);
    place_write("head.json", head.data, head.len);
    assert_int_equal(place_verify(&found, NULL), 0);
    assert_int_equal(place_verify_against(&mark, &found, NULL), 1);
    assert_contains(buf_str(&found), "record 5 is not the one that is known from elsewhere");
}

int main(void)
{
    int r;

    buf_init(&found, SIZE_MAX / 2);
    r = unit_run(place_make, place_remove);
    buf_done(&found);
    return r;
}
