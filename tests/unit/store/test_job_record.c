/* The life of a durable job on the disk, and which one comes next. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "store/job_record.h"

static char home[] = "/tmp/belljar-jobs-XXXXXX";
static char *path;
static struct store *store;

static int set_up(void **state)
{
    char command[96];

    (void)state;
    if (strstr(home, "XXXXXX") && !mkdtemp(home))
        return -1;
    (void)snprintf(command, sizeof(command), "%s/belljar/jobs.sqlite", home);
    (void)unlink(command);
    if (setenv("XDG_STATE_HOME", home, 1) < 0)
        return -1;
    store = job_records_open(&path, NULL);
    return store ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    store_free(store);
    (void)unlink(path);
    free(path);
    path = NULL;
    return 0;
}

static int remove_home(void **state)
{
    char inner[64];

    (void)state;
    (void)snprintf(inner, sizeof(inner), "%s/belljar", home);
    return rmdir(inner) < 0 ? -1 : rmdir(home);
}

/* --- short words --- */

static void add(const char *id, const char *owner, int64_t due_ms)
{
    const struct job_order_record order = {
        .id = id,
        .owner = owner,
        .correlation_id = id,
        .terms = {.max_attempts = 2, .is_repeatable = strchr(id, '!') == NULL, .keep_ms = 1000},
        .now_ms = 10,
        .due_ms = due_ms,
        .request = {"{\"code\":\"1\"}", 12},
    };

    assert_return_code(job_record_add(store, &order, NULL), 0);
}

static void begin(const char *id, uint32_t number)
{
    assert_return_code(job_record_begin(store, id, number, "run_1", 20, NULL), 0);
}

static void end(const char *id, uint32_t number, enum job_state state, int64_t now_ms)
{
    const struct job_end e = {.number = number,
                              .outcome = "success",
                              .state = state,
                              .now_ms = now_ms,
                              .due_ms = now_ms + 5,
                              .result_bytes = state == JOB_DONE ? 6 : 0};

    assert_return_code(job_record_add_piece(store, id, 0, (struct span){"result", 6}, NULL), 0);
    assert_return_code(job_record_end(store, id, &e, NULL), 0);
}

static int64_t now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000;
}

static enum job_state state_of(const char *id, const char *owner)
{
    enum job_state state = JOB_STATES;
    int64_t bytes;

    (void)job_record_state(store, owner, id, &state, &bytes, NULL);
    return state;
}

static int64_t count_rows(const char *table)
{
    char sql[64];
    int64_t n = -1;

    (void)snprintf(sql, sizeof(sql), "SELECT COUNT(*) FROM %s", table);
    assert_return_code(store_number(store, -1, &n, NULL, sql, ""), 0);
    return n;
}

static struct job_usage usage_of(const char *owner)
{
    struct job_usage usage;

    assert_return_code(job_record_usage(store, owner, &usage, NULL), 0);
    return usage;
}

/* --- tests --- */

TEST_WITH(usage_follows_a_job_through_its_life, set_up, tear_down)
{
    bool has_more;

    add("job_a", "ann", 0);
    add("job_b", "ann", 0);
    assert_int_equal(usage_of("ann").unfinished, 2);
    assert_int_equal(usage_of("ann").bytes, 2 * (1024 + 12));
    begin("job_a", 1);
    assert_int_equal(usage_of("ann").unfinished, 2);
    end("job_a", 1, JOB_DONE, now_ms());
    assert_int_equal(usage_of("ann").unfinished, 1);
    assert_int_equal(usage_of("ann").bytes, 1024 + 12 + 1024 + 6);
    assert_return_code(job_record_delete(store, "ann", "job_a", NULL), 0);
    assert_int_equal(usage_of("ann").bytes, 1024 + 12);
    assert_int_equal(usage_of("bob").bytes, 0);
    assert_return_code(job_record_forget(store, "ann", 1, &has_more, NULL), 0);
    assert_true(has_more);
    assert_return_code(job_record_forget(store, "ann", 9, &has_more, NULL), 0);
    assert_false(has_more);
    assert_int_equal(usage_of("ann").bytes, 0);
    assert_int_equal(count_rows("usage") + count_rows("piece") + count_rows("attempt"), 0);
}

TEST_WITH(what_was_running_is_tried_again_fails_or_is_lost, set_up, tear_down)
{
    static const char *const ids[] = {"job_again", "job_last", "job_once!", "job_waits"};
    json_t *job = NULL;
    int64_t n = 0;

    for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
        add(ids[i], "ann", 0);
    begin("job_again", 1);
    begin("job_last", 1);
    end("job_last", 1, JOB_WAITING, 30);
    begin("job_last", 2);
    begin("job_once!", 1);
    assert_return_code(job_record_add_piece(store, "job_again", 0, (struct span){"half", 4}, NULL),
                       0);
    assert_return_code(job_record_recover(store, now_ms(), NULL), 0);
    assert_int_equal(state_of("job_again", "ann"), JOB_WAITING);
    assert_int_equal(state_of("job_last", "ann"), JOB_FAILED);
    assert_int_equal(state_of("job_once!", "ann"), JOB_LOST);
    assert_int_equal(state_of("job_waits", "ann"), JOB_WAITING);
    assert_int_equal(usage_of("ann").unfinished, 2);
    assert_return_code(store_number(store, -1, &n, NULL, "SELECT COUNT(*) FROM piece", ""), 0);
    assert_int_equal(n, 2); /* the requests of those that wait, and no half of a result */
    assert_return_code(job_record_show(store, "ann", "job_last", &job, NULL), 0);
    assert_int_equal(json_array_size(json_object_get(job, "history")), 2);
    assert_string_equal(json_get_text(job, "outcome"), "interrupted");
    assert_non_null(
        strstr(json_get_text(json_object_get(job, "error"), "message"), "last attempt"));
    json_decref(job);
    assert_return_code(job_record_recover(store, now_ms(), NULL), 0); /* nothing is left to do */
    assert_int_equal(state_of("job_again", "ann"), JOB_WAITING);
}

TEST_WITH(owners_follow_one_another_and_jobs_by_their_time, set_up, tear_down)
{
    char owner[JOB_OWNER_SIZE] = "", id[JOB_ID_SIZE];
    int64_t due = 0;

    add("job_b1", "bob", 300);
    add("job_b2", "bob", 100);
    add("job_a1", "ann", 100);
    begin("job_a1", 1);
    assert_int_equal(job_record_next_owner(store, "", owner, NULL), 1);
    assert_string_equal(owner, "bob"); /* ann has none that waits */
    assert_int_equal(job_record_next_owner(store, owner, owner, NULL), 0);
    assert_int_equal(job_record_next(store, "bob", 99, 0, id, NULL), 0);
    assert_int_equal(job_record_next(store, "bob", 300, 0, id, NULL), 1);
    assert_string_equal(id, "job_b2");
    assert_int_equal(job_record_next(store, "bob", 300, 1, id, NULL), 1);
    assert_string_equal(id, "job_b1");
    assert_int_equal(job_record_next(store, "bob", 300, 2, id, NULL), 0);
    assert_return_code(job_record_next_due(store, 150, &due, NULL), 0);
    assert_int_equal(due, 300);
}

TEST_WITH(nobody_finds_what_is_another_s_or_whose_time_is_up, set_up, tear_down)
{
    struct error err = {0};
    enum job_state found;
    bool has_more = true;
    int64_t bytes;

    add("job_a", "ann", 0);
    begin("job_a", 1);
    end("job_a", 1, JOB_DONE, now_ms() - 5000);
    assert_int_equal(job_record_state(store, "ann", "job_a", &found, &bytes, &err), -1);
    assert_error(&err, E_NOT_FOUND, "no job with that id");
    add("job_b", "ann", 0);
    assert_int_equal(job_record_cancel(store, "bob", "job_b", 0, &found, &err), -1);
    assert_error(&err, E_NOT_FOUND, "no job with that id");
    assert_int_equal(job_record_delete(store, "ann", "job_b", &err), -1);
    assert_error(&err, E_INVALID, "not over");
    assert_return_code(job_record_expire(store, now_ms(), 1, &has_more, NULL), 0);
    assert_true(has_more);
    assert_return_code(job_record_expire(store, now_ms(), 1, &has_more, NULL), 0);
    assert_false(has_more);
    assert_int_equal(count_rows("job"), 1);
}

TEST_WITH(a_key_finds_its_job, set_up, tear_down)
{
    uint8_t key[SHA256_BYTES] = {1}, body[SHA256_BYTES] = {2}, seen[SHA256_BYTES];
    const struct job_order_record order = {.id = "job_k",
                                           .owner = "ann",
                                           .correlation_id = "c",
                                           .key = key,
                                           .body = body,
                                           .request = {"{}", 2}};
    char id[JOB_ID_SIZE];

    assert_return_code(job_record_add(store, &order, NULL), 0);
    assert_int_equal(job_record_by_key(store, "ann", key, id, seen, NULL), 1);
    assert_string_equal(id, "job_k");
    assert_memory_equal(seen, body, SHA256_BYTES);
    assert_int_equal(job_record_by_key(store, "bob", key, id, seen, NULL), 0);
    key[0] = 9;
    assert_int_equal(job_record_by_key(store, "ann", key, id, seen, NULL), 0);
}

/* It is deleted a little later; the key must not lead there meanwhile. */
TEST_WITH(a_key_is_free_when_the_time_of_its_job_is_up, set_up, tear_down)
{
    uint8_t key[SHA256_BYTES] = {1}, body[SHA256_BYTES] = {2}, seen[SHA256_BYTES];
    struct job_order_record order = {.id = "job_k",
                                     .owner = "ann",
                                     .correlation_id = "c",
                                     .key = key,
                                     .body = body,
                                     .request = {"{}", 2}};
    char id[JOB_ID_SIZE];

    assert_return_code(job_record_add(store, &order, NULL), 0);
    begin("job_k", 1);
    end("job_k", 1, JOB_DONE, now_ms() - 5000);
    assert_int_equal(job_record_by_key(store, "ann", key, id, seen, NULL), 0);
    order.id = "job_l";
    assert_return_code(job_record_add(store, &order, NULL), 0);
    assert_int_equal(job_record_by_key(store, "ann", key, id, seen, NULL), 1);
    assert_string_equal(id, "job_l");
    assert_int_equal(job_record_add(store, &order, NULL), -1); /* and it is taken again */
}

TEST_WITH(a_job_that_no_longer_waits_is_not_begun, set_up, tear_down)
{
    struct error err = {0};
    enum job_state found;

    add("job_a", "ann", 0);
    assert_return_code(job_record_cancel(store, "ann", "job_a", now_ms(), &found, NULL), 0);
    assert_int_equal(job_record_begin(store, "job_a", 1, "run_1", 20, &err), -1);
    assert_error(&err, E_NOT_FOUND, "no longer waits");
    assert_int_equal(count_rows("attempt"), 0);
}

static struct job_import import_of(const char *id, const char *owner)
{
    return (struct job_import){
        .order = {.id = id,
                  .owner = owner,
                  .correlation_id = "c",
                  .terms = {.max_attempts = 3, .is_repeatable = true, .keep_ms = 5000},
                  .now_ms = 10,
                  .due_ms = 20,
                  .request = {"{\"code\":\"1\"}", 12}},
        .state = JOB_WAITING,
        .attempts = 2,
    };
}

TEST_WITH(a_job_of_another_server_goes_on, set_up, tear_down)
{
    struct job_import import = import_of("job_a", "ann");
    cleanup(buf_done) struct buf request = BUF_OF(64);
    cleanup_json json_t *job = NULL;
    struct job_usage usage;
    struct job_task task;
    struct error err = {0};

    assert_return_code(job_record_import(store, &import, NULL), 0);
    assert_return_code(job_record_import(store, &import, NULL), 0); /* nothing is changed */
    import.order.owner = "bob";
    assert_int_equal(job_record_import(store, &import, &err), -1);
    assert_error(&err, E_NOT_FOUND, "no job");
    assert_return_code(job_record_load(store, "job_a", &task, &request, NULL), 0);
    assert_int_equal(task.attempts, 2);
    assert_string_equal(buf_str(&request), "{\"code\":\"1\"}");
    job_task_done(&task);
    begin("job_a", 3);
    end("job_a", 3, JOB_DONE, now_ms());
    assert_return_code(job_record_show(store, "ann", "job_a", &job, NULL), 0);
    assert_int_equal(json_array_size(json_object_get(job, "history")), 3);
    assert_return_code(job_record_usage(store, "ann", &usage, NULL), 0);
    assert_int_equal(usage.unfinished, 0);
}

TEST_WITH(a_job_of_another_server_that_is_over_is_shown, set_up, tear_down)
{
    struct job_import import = import_of("job_b", "ann");
    cleanup(buf_done) struct buf result = BUF_OF(2 * JOB_PIECE_BYTES);
    static char text[JOB_PIECE_BYTES + 1];
    cleanup_json json_t *job = NULL;

    memset(text, 'x', sizeof(text));
    import.state = JOB_DONE;
    import.outcome = "success";
    import.ended_ms = now_ms();
    import.expires_ms = import.ended_ms + 5000;
    import.result = (struct span){text, sizeof(text)};
    assert_return_code(job_record_import(store, &import, NULL), 0);
    assert_return_code(job_record_show(store, "ann", "job_b", &job, NULL), 0);
    assert_string_equal(json_get_text(job, "state"), "done");
    assert_string_equal(json_get_text(job, "outcome"), "success");
    assert_int_equal(job_record_read(store, "job_b", 0, &result, NULL), 1);
    assert_int_equal(job_record_read(store, "job_b", 1, &result, NULL), 1);
    assert_int_equal(result.len, sizeof(text));
}

UNIT_MAIN_WITH(NULL, remove_home)
