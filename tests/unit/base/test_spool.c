#include "unit.h"

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/spool.h"
#include "base/stream.h"
#include "mask/masker.h"

static struct spool_directory *store_in(const char *dir, uint64_t limit)
{
    struct spool_directory *store = NULL;
    struct error err = {0};

    if (spool_directory_new(dir, limit, &store, &err) < 0)
        fail_msg("%s", err.message);
    return store;
}

static struct spool *spool_of(struct spool_directory *store, const char *text, size_t len)
{
    struct spool *spool = NULL;

    assert_int_equal(spool_new(store, NULL, &spool, NULL), 0);
    spool_add(spool, text, len);
    return spool;
}

TEST(what_was_added_is_read_by_range)
{
    static const char text[] = "zero\0one\xff\ntwo";
    static const char *const places[] = {NULL, "/tmp", "/dev/shm"};

    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        struct spool_directory *store = store_in(places[i], MIB);
        struct spool *spool = spool_of(store, text, sizeof(text));
        struct spool_info info;
        char data[64];

        spool_add(spool, text, sizeof(text));
        spool_info(spool, &info);
        assert_int_equal(info.size, 2 * sizeof(text));
        assert_int_equal(info.dropped, 0);
        assert_int_equal(info.lines, 3);
        assert_int_equal(spool_directory_used(store), 2 * sizeof(text));
        assert_int_equal(spool_read(spool, 0, data, sizeof(data), NULL), 2 * sizeof(text));
        assert_memory_equal(data, text, sizeof(text));
        assert_memory_equal(data + sizeof(text), text, sizeof(text));
        assert_int_equal(spool_read(spool, sizeof(text) + 5, data, 3, NULL), 3);
        assert_memory_equal(data, "one", 3);
        assert_int_equal(spool_read(spool, 2 * sizeof(text), data, 1, NULL), 0);
        assert_int_equal(spool_read(spool, UINT64_MAX, data, 1, NULL), 0);
        spool_free(spool);
        assert_int_equal(spool_directory_used(store), 0);
        spool_directory_free(store);
    }
}

TEST(a_place_that_is_none_is_an_error)
{
    struct spool_directory *store = NULL;
    struct error err = {0};

    assert_true(spool_directory_new("/proc/self/none", MIB, &store, &err) < 0);
    assert_error(&err, E_SYSTEM, "/proc/self/none");
    assert_null(store);
    spool_directory_free(NULL);
    spool_free(NULL);
}

/* /proc has no files without a name. */
TEST(where_files_need_names_memory_is_used)
{
    struct spool_directory *store = store_in("/proc", MIB);
    struct spool *spool = spool_of(store, "x", 1);
    char data[2];

    assert_int_equal(spool_read(spool, 0, data, 2, NULL), 1);
    spool_free(spool);
    spool_directory_free(store);
}

TEST(past_the_ceiling_bytes_are_counted)
{
    struct spool_directory *store = store_in(NULL, LIMIT_SPOOL_TOTAL);
    struct spool *spool = spool_of(store, "", 0);
    struct spool_info info;
    struct spool_place place;
    char *block = malloc(MIB + 1);
    char data[4];

    memset(block, 'x', MIB + 1);
    block[MIB] = '\n';
    for (int i = 0; i < 65; i++)
        spool_add(spool, block, MIB + 1);
    spool_info(spool, &info);
    assert_int_equal(info.size, LIMIT_SPOOL_BYTES);
    assert_int_equal(info.dropped, 65 * (MIB + 1) - LIMIT_SPOOL_BYTES);
    assert_int_equal(info.lines, 64);
    assert_int_equal(spool_find_line(spool, 64, &place, NULL), 0);
    assert_int_equal(place.offset, 63 * (MIB + 1));
    assert_int_equal(spool_read(spool, LIMIT_SPOOL_BYTES - 1, data, 4, NULL), 1);
    assert_int_equal(data[0], 'x');
    free(block);
    spool_free(spool);
    spool_directory_free(store);
}

TEST(all_spools_share_one_limit)
{
    struct spool_directory *store = store_in(NULL, 10);
    struct spool *a = spool_of(store, "123456", 6), *b = spool_of(store, "123456", 6), *c;
    struct spool_info info;

    spool_info(b, &info);
    assert_int_equal(info.size, 4);
    assert_int_equal(info.dropped, 2);
    spool_free(a);
    /* No holes: what ended early has ended. */
    spool_add(b, "7", 1);
    spool_info(b, &info);
    assert_int_equal(info.size, 4);
    assert_int_equal(info.dropped, 3);
    c = spool_of(store, "123456", 6);
    spool_info(c, &info);
    assert_int_equal(info.size, 6);
    spool_free(b);
    spool_free(c);
    assert_int_equal(spool_directory_used(store), 0);
    spool_directory_free(store);
}

TEST(a_full_disk_ends_a_spool_and_nothing_else)
{
    struct spool_directory *store = store_in("/tmp", MIB);
    struct spool *spool = spool_of(store, "abc", 3);
    struct rlimit old, low;
    struct spool_info info;
    char data[8];

    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    low = (struct rlimit){5, old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    spool_add(spool, "defgh", 5);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    spool_add(spool, "ijk", 3);
    spool_info(spool, &info);
    assert_int_equal(info.size, 5);
    assert_int_equal(info.dropped, 6);
    assert_int_equal(spool_read(spool, 0, data, sizeof(data), NULL), 5);
    assert_memory_equal(data, "abcde", 5);
    spool_free(spool);
    spool_directory_free(store);
}

/* --- lines --- */

TEST(lines_are_found_and_read)
{
    static const char text[] = "one\n\nthree\nfour";
    struct spool_directory *store = store_in(NULL, MIB);
    struct spool *spool = spool_of(store, text, sizeof(text) - 1);
    struct error err = {0};
    struct spool_place place;
    struct buf out;

    buf_init(&out, 1000);
    assert_int_equal(spool_find_line(spool, 1, &place, &err), 0);
    assert_int_equal(place.offset, 0);
    assert_int_equal(spool_read_lines(spool, &place, 2, 100, &out, &err), 1);
    assert_string_equal(buf_str(&out), "one\n\n");
    assert_int_equal(place.line, 3);
    assert_int_equal(place.offset, 5);
    assert_int_equal(spool_read_lines(spool, &place, 100, 100, &out, &err), 0);
    assert_string_equal(buf_str(&out), text);
    assert_int_equal(place.line, 4);

    buf_clear(&out);
    assert_int_equal(spool_find_line(spool, 3, &place, &err), 0);
    assert_int_equal(spool_read_lines(spool, &place, 1, 3, &out, &err), 1);
    assert_string_equal(buf_str(&out), "thr");
    assert_int_equal(place.line, 3);
    assert_int_equal(spool_read_lines(spool, &place, 1, 3, &out, &err), 1);
    assert_string_equal(buf_str(&out), "three\n");
    assert_int_equal(place.line, 4);

    assert_int_equal(spool_find_line(spool, 4, &place, &err), 0);
    assert_int_equal(place.offset, 11);
    assert_int_equal(spool_find_line(spool, 5, &place, &err), -1);
    assert_error(&err, E_NOT_FOUND, "there are 4 lines");
    assert_int_equal(spool_find_line(spool, 0, &place, &err), -1);
    error_done(&err);
    spool_add(spool, "\n", 1);
    assert_int_equal(spool_find_line(spool, 5, &place, &err), -1);
    error_done(&err);
    buf_done(&out);
    spool_free(spool);
    spool_directory_free(store);
}

/* Against a plain count, with lines of every length, across the notes. */
TEST(every_line_of_a_large_spool_is_where_it_is)
{
    struct spool_directory *store = store_in(NULL, LIMIT_SPOOL_TOTAL);
    struct spool *spool = spool_of(store, "", 0);
    uint64_t *offsets = calloc(40000, sizeof(*offsets));
    char *line = malloc(70000);
    uint64_t at = 0;
    size_t lines = 0;
    unsigned chance = 7;

    memset(line, 'l', 70000);
    while (at < 9 * MIB) {
        size_t len;

        chance = chance * 1103515245 + 12345;
        len = chance >> 16 & 63 ? chance >> 16 & 255 : chance >> 12 & 65535;
        line[len] = '\n';
        offsets[lines++] = at;
        spool_add(spool, line, len + 1);
        line[len] = 'l';
        at += len + 1;
        assert_true(lines < 40000);
    }
    for (size_t i = 0; i < lines; i += 1 + i % 97) {
        struct spool_place place;

        assert_int_equal(spool_find_line(spool, i + 1, &place, NULL), 0);
        assert_int_equal(place.offset, offsets[i]);
        assert_int_equal(place.line, i + 1);
    }
    free(line);
    free(offsets);
    spool_free(spool);
    spool_directory_free(store);
}

/* --- searching --- */

struct found {
    char text[1024];
    size_t stop_after;
    size_t count;
    size_t pieces;
};

static bool note(void *arg, const struct spool_match *match)
{
    struct found *found = arg;
    size_t len = strlen(found->text);

    (void)snprintf(found->text + len, sizeof(found->text) - len, "%llu@%llu[%.*s] ",
                   (unsigned long long)match->place.line, (unsigned long long)match->place.offset,
                   (int)(match->end - match->start), match->text + match->start);
    found->pieces += match->is_piece;
    return ++found->count != found->stop_after;
}

static struct pattern *pattern_of(const char *text)
{
    struct pattern *pattern = NULL;

    assert_int_equal(pattern_new(text, strlen(text), false, &pattern, NULL), 0);
    return pattern;
}

static int search_all(struct spool *spool, const char *text, struct found *found)
{
    struct pattern *pattern = pattern_of(text);
    struct spool_place place = {0, 1};
    int calls = 1;

    while (spool_search(spool, pattern, &place, note, found, NULL) == 1)
        calls++;
    pattern_free(pattern);
    return calls;
}

TEST(lines_that_match_are_given_with_their_place)
{
    static const char text[] = "error: a\nfine\n\nerror: b\n\xff\0error: c";
    struct spool_directory *store = store_in(NULL, MIB);
    struct spool *spool = spool_of(store, text, sizeof(text) - 1);
    struct found found = {0};

    assert_int_equal(search_all(spool, "error: .", &found), 1);
    assert_string_equal(found.text, "1@0[error: a] 4@15[error: b] 5@24[error: c] ");
    assert_int_equal(found.pieces, 1); /* the last has no end yet */
    found = (struct found){0};
    (void)search_all(spool, "^$", &found);
    assert_string_equal(found.text, "3@14[] ");
    found = (struct found){0};
    (void)search_all(spool, "nothing", &found);
    assert_string_equal(found.text, "");
    spool_free(spool);
    spool_directory_free(store);
}

TEST(a_search_goes_on_where_the_reader_had_enough)
{
    struct spool_directory *store = store_in(NULL, MIB);
    struct spool *spool = spool_of(store, "a\na\nb\na\n", 8);
    struct pattern *pattern = pattern_of("a");
    struct spool_place place = {0, 1};
    struct found found = {.stop_after = 2};

    assert_int_equal(spool_search(spool, pattern, &place, note, &found, NULL), 1);
    assert_int_equal(place.offset, 4);
    assert_int_equal(place.line, 3);
    assert_int_equal(spool_search(spool, pattern, &place, note, &found, NULL), 0);
    assert_string_equal(found.text, "1@0[a] 2@2[a] 4@6[a] ");
    pattern_free(pattern);
    spool_free(spool);
    spool_directory_free(store);
}

TEST(a_long_line_is_searched_in_pieces)
{
    struct spool_directory *store = store_in(NULL, LIMIT_SPOOL_TOTAL);
    struct spool *spool = spool_of(store, "", 0);
    char *line = malloc(LIMIT_SPOOL_LINE);
    struct found found = {0};

    memset(line, 'x', LIMIT_SPOOL_LINE);
    for (int i = 0; i < 40; i++)
        spool_add(spool, line, LIMIT_SPOOL_LINE);
    spool_add(spool, "\nneedle\n", 8);
    spool_add(spool, line, LIMIT_SPOOL_LINE);
    spool_add(spool, "\n\n", 2);
    assert_true(search_all(spool, "needle|^$", &found) > 1);
    assert_string_equal(found.text, "2@2621441[needle] 4@2686985[] ");
    assert_int_equal(found.pieces, 0);
    found = (struct found){.stop_after = 0};
    (void)search_all(spool, "x$", &found);
    assert_int_equal(found.pieces, found.count);
    free(line);
    spool_free(spool);
    spool_directory_free(store);
}

static bool count(void *arg, const struct spool_match *match)
{
    (void)match;
    ++*(size_t *)arg;
    return true;
}

/* Lines in one call; all calls together find `*ret_matches`. */
static uint64_t lines_of_a_call(const struct spool *spool, const char *text, size_t *ret_matches)
{
    struct pattern *pattern = pattern_of(text);
    struct spool_place place = {0, 1};
    uint64_t lines = 0;
    int r;

    *ret_matches = 0;
    do {
        uint64_t before = place.line;

        r = spool_search(spool, pattern, &place, count, ret_matches, NULL);
        assert_true(r >= 0);
        if (place.line - before > lines)
            lines = place.line - before;
        assert_true(place.line > before);
    } while (r == 1);
    pattern_free(pattern);
    return lines;
}

/* They are no bytes to speak of, and a call of the expression each. */
TEST(empty_lines_count_as_work)
{
    struct spool_directory *store = store_in(NULL, LIMIT_SPOOL_TOTAL);
    struct spool *spool = spool_of(store, "", 0);
    char *text = malloc(MIB);
    size_t matches;

    memset(text, '\n', MIB);
    spool_add(spool, text, MIB);
    assert_true(lines_of_a_call(spool, "z", &matches) <= 64 * KIB);
    assert_int_equal(matches, 0);
    assert_true(lines_of_a_call(spool, "^$", &matches) <= 64 * KIB);
    assert_int_equal(matches, MIB);
    /* A program of more than 900 steps is paid for by each line. */
    assert_true(lines_of_a_call(spool, "a[ab]{900}c", &matches) <= 5000);
    free(text);
    spool_free(spool);
    spool_directory_free(store);
}

TEST(one_call_works_a_bounded_time)
{
    struct spool_directory *store = store_in(NULL, LIMIT_SPOOL_TOTAL);
    struct spool *spool = spool_of(store, "", 0);
    struct pattern *pattern = pattern_of("[ab]*a[ab]{900}c");
    struct spool_place place = {0, 1};
    struct found found = {0};
    struct timespec from, to;
    char *text = malloc(MIB);
    unsigned chance = 1;

    for (size_t i = 0; i < MIB; i++) {
        chance = chance * 1103515245 + 12345;
        text[i] = chance >> 16 & 1 ? 'a' : 'b';
    }
    spool_add(spool, text, MIB);
    (void)clock_gettime(CLOCK_MONOTONIC, &from);
    assert_int_equal(spool_search(spool, pattern, &place, note, &found, NULL), 1);
    (void)clock_gettime(CLOCK_MONOTONIC, &to);
    print_message("# one call of the worst: %.1f ms\n",
                  (double)(to.tv_sec - from.tv_sec) * 1e3 +
                      (double)(to.tv_nsec - from.tv_nsec) / 1e6);
    assert_true(place.offset > 0 && place.offset <= 16 * KIB);
    assert_true(to.tv_sec - from.tv_sec < 5);
    free(text);
    pattern_free(pattern);
    spool_free(spool);
    spool_directory_free(store);
}

/* --- behind a stream --- */

TEST(a_stream_spills_the_whole_once_it_drops)
{
    struct spool_directory *store = store_in(NULL, MIB);
    char whole[4096], got[4096];

    for (size_t i = 0; i < sizeof(whole); i++)
        whole[i] = (char)('a' + i % 26);
    for (size_t piece = 1; piece < 300; piece += 13) {
        struct run_stream stream;
        struct spool *spool;

        run_stream_init(&stream, 100);
        run_stream_spill(&stream, store, NULL);
        for (size_t at = 0; at < 100; at += 10)
            assert_int_equal(run_stream_add(&stream, masker_pass_unmasked(whole + at, 10), NULL),
                             0);
        assert_null(stream.spool); /* head and tail are all */
        for (size_t at = 100; at < sizeof(whole); at += piece)
            assert_int_equal(
                run_stream_add(&stream,
                               masker_pass_unmasked(whole + at, sizeof(whole) - at < piece
                                                                    ? sizeof(whole) - at
                                                                    : piece),
                               NULL),
                0);
        assert_int_equal(stream.dropped, sizeof(whole) - 100);
        spool = run_stream_take_spool(&stream);
        assert_non_null(spool);
        run_stream_done(&stream);
        assert_int_equal(spool_read(spool, 0, got, sizeof(got), NULL), sizeof(whole));
        assert_memory_equal(got, whole, sizeof(whole));
        spool_free(spool);
    }
    assert_int_equal(spool_directory_used(store), 0);
    spool_directory_free(store);
}

TEST(a_stream_frees_a_spool_nobody_took)
{
    struct spool_directory *store = store_in(NULL, MIB);
    struct run_stream stream;

    run_stream_init(&stream, 4);
    run_stream_spill(&stream, store, NULL);
    assert_int_equal(run_stream_add(&stream, masker_pass_unmasked("0123456789", 10), NULL), 0);
    assert_int_equal(spool_directory_used(store), 10);
    run_stream_done(&stream);
    assert_int_equal(spool_directory_used(store), 0);
    spool_directory_free(store);
}

/* One owner's outputs leave room for those of others. */
TEST(an_owner_has_a_share_of_the_store)
{
    static char data[64 * 1024];
    struct spool_directory *store = NULL;
    struct spool *loud = NULL, *quiet = NULL;
    struct spool_info info;
    uint64_t of_loud = 0, of_quiet = 0;

    memset(data, 'x', sizeof(data));
    assert_int_equal(spool_directory_new(NULL, MIB, &store, NULL), 0);
    assert_int_equal(spool_new(store, &of_loud, &loud, NULL), 0);
    assert_int_equal(spool_new(store, &of_quiet, &quiet, NULL), 0);
    for (int i = 0; i < 32; i++)
        spool_add(loud, data, sizeof(data));
    spool_info(loud, &info);
    assert_int_equal(info.size, MIB / 2);
    assert_int_equal(of_loud, MIB / 2);
    assert_int_equal(info.dropped, 32 * sizeof(data) - MIB / 2);
    spool_add(quiet, data, sizeof(data));
    spool_info(quiet, &info);
    assert_int_equal(info.size, sizeof(data));
    spool_free(loud);
    assert_int_equal(of_loud, 0);
    spool_free(quiet);
    assert_int_equal(spool_directory_used(store), 0);
    spool_directory_free(store);
}

UNIT_MAIN()
