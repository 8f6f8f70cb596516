#include "place.h"

#include <stdio.h>
#include <unistd.h>

#include "audit/index.h"
#include "base/cleanup.h"
#include "mask/masker.h"

struct seen {
    size_t count, starts;
    char text[4096];
};

static int see(void *user, const struct index_row *row, const struct buf *line,
               const struct buf *start, struct error *err)
{
    struct seen *seen = user;
    size_t len = strlen(seen->text);

    (void)err;
    assert_non_null(strstr(buf_str(line), row->kind));
    seen->count++;
    seen->starts += start != NULL;
    (void)snprintf(seen->text + len, sizeof(seen->text) - len, "%s:%s:%s ", row->kind,
                   row->id ? row->id : "", row->status ? row->status : "");
    return 0;
}

static struct seen find(const struct index_filter *filter)
{
    struct seen seen = {0};
    struct index *index = NULL;
    struct error err = {0};

    if (index_open(place, &index, &err) < 0 || index_find(index, filter, see, &seen, &err) < 0)
        fail_msg("%s", err.message);
    index_close(index);
    return seen;
}

static void add(struct trail *trail, const char *kind, const char *id, const char *text)
{
    cleanup(record_done) struct record record = {0};

    record_init(&record, kind);
    record_word(&record, "id", id);
    record_word(&record, "owner", "ann");
    if (strcmp(kind, "run") == 0)
        record_word(&record, "status", "success");
    record_open(&record, "code");
    record_text(&record, "text", masker_pass_unmasked(text, strlen(text)));
    record_close(&record);
    assert_int_equal(trail_append(trail, &record, TRAIL_EVENT, NULL, NULL), 0);
}

static void fill(uint64_t file_bytes)
{
    struct trail *trail;

    place_clear();
    trail = place_open(file_bytes);
    add(trail, "start", "run_a", "a needle");
    add(trail, "run", "run_a", "");
    add(trail, "start", "run_b", "straw");
    trail_close(trail);
}

TEST(a_run_is_one_row_and_one_without_an_end_is_unfinished)
{
    struct seen seen;

    fill(PLACE_FILE_BYTES);
    seen = find(&(struct index_filter){.limit = 10});
    assert_string_equal(seen.text, "begin:: run:run_a:success start:run_b:unfinished ");
    assert_int_equal(seen.starts, 1);
    seen = find(&(struct index_filter){.has_starts = true});
    assert_int_equal(seen.count, 4);
}

TEST(filters_add_up)
{
    fill(PLACE_FILE_BYTES);
    assert_int_equal(find(&(struct index_filter){.text = "NEEDLE"}).count, 1);
    assert_int_equal(find(&(struct index_filter){.text = "NEEDLE", .status = "error"}).count, 0);
    assert_int_equal(find(&(struct index_filter){.id = "run_a"}).count, 1);
    assert_int_equal(find(&(struct index_filter){.id = "2", .has_starts = true}).count, 1);
    assert_int_equal(find(&(struct index_filter){.owner = "ann"}).count, 2);
    assert_int_equal(find(&(struct index_filter){.owner = "' OR 1=1 --"}).count, 0);
    assert_int_equal(find(&(struct index_filter){.since = "2000-01-01", .kind = "run"}).count, 1);
    assert_int_equal(find(&(struct index_filter){.until = "2000-01-01"}).count, 0);
    assert_int_equal(find(&(struct index_filter){.after = 2}).count, 2);
    assert_int_equal(find(&(struct index_filter){.limit = 1}).count, 1);
}

static struct index_page find_page(const struct index_filter *filter, struct seen *seen)
{
    struct index_page page = {0};
    struct index *index = NULL;
    struct error err = {0};

    *seen = (struct seen){0};
    if (index_open(place, &index, &err) < 0 ||
        index_find_page(index, filter, see, seen, &page, &err) < 0)
        fail_msg("%s", err.message);
    index_close(index);
    return page;
}

TEST(pages_follow_one_another_to_the_end)
{
    struct index_page page = {.next = 0};
    struct seen seen;
    size_t count = 0;

    fill(PLACE_FILE_BYTES);
    do {
        page = find_page(&(struct index_filter){.limit = 1, .before = page.next}, &seen);
        assert_int_equal(seen.count, 1);
        assert_int_equal(page.newest, 4);
        count++;
    } while (page.next);
    assert_int_equal(count, 3);
}

TEST(a_page_looks_at_so_many_and_goes_on_behind_them)
{
    struct index_page page;
    struct seen seen;

    fill(PLACE_FILE_BYTES);
    page = find_page(&(struct index_filter){.text = "needle", .looks = 1}, &seen);
    assert_int_equal(seen.count, 0);
    assert_int_equal(page.next, 4);
    page = find_page(&(struct index_filter){.text = "needle", .looks = 1, .before = 4}, &seen);
    assert_int_equal(seen.count, 1);
    assert_int_equal(page.next, 3);
}

TEST(runs_are_found_without_what_else_is_there)
{
    struct seen seen;

    fill(PLACE_FILE_BYTES);
    (void)find_page(&(struct index_filter){.is_of_runs = true}, &seen);
    assert_string_equal(seen.text, "run:run_a:success start:run_b:unfinished ");
    (void)find_page(&(struct index_filter){.run = "run_a", .has_starts = true}, &seen);
    assert_int_equal(seen.count, 2);
    (void)find_page(&(struct index_filter){.run = "run", .has_starts = true}, &seen);
    assert_int_equal(seen.count, 0);
}

TEST(a_run_has_neighbours_of_its_owner)
{
    struct index *index = NULL;
    struct error err = {0};
    struct trail *trail;
    char id[64];

    fill(PLACE_FILE_BYTES);
    trail = place_open(PLACE_FILE_BYTES);
    add(trail, "run", "run_b", "");
    trail_close(trail);
    assert_int_equal(index_open(place, &index, &err), 0);
    assert_int_equal(index_neighbour(index, 3, true, "ann", NULL, id, &err), 0);
    assert_string_equal(id, "run_b");
    assert_int_equal(index_neighbour(index, 3, true, "bob", NULL, id, &err), 0);
    assert_string_equal(id, "");
    assert_int_equal(index_neighbour(index, 3, false, NULL, NULL, id, &err), 0);
    assert_string_equal(id, "");
    index_close(index);
}

TEST(what_was_added_is_found)
{
    struct trail *trail;

    fill(1); /* each record in a file of its own */
    assert_int_equal(find(&(struct index_filter){.has_starts = true, .kind = "start"}).count, 2);
    trail = place_open(PLACE_FILE_BYTES);
    add(trail, "run", "run_b", "");
    trail_close(trail);
    assert_int_equal(find(&(struct index_filter){.kind = "run"}).count, 2);
}

TEST(it_is_made_anew_when_it_does_not_fit)
{
    fill(PLACE_FILE_BYTES);
    assert_int_equal(find(&(struct index_filter){0}).count, 3);
    place_write("index.sqlite", "no database at all, and long enough to look like one", 52);
    assert_int_equal(find(&(struct index_filter){0}).count, 3);
    place_clear(); /* another trail at the same place */
    place_fill(1, PLACE_FILE_BYTES);
    assert_int_equal(find(&(struct index_filter){0}).count, 2);
}

UNIT_MAIN_WITH(place_make, place_remove)
