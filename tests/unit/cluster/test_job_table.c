#include "cluster/job_table.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "unit.h"

#define ID "job_0123456789ABCDEFGHJKMNPQRS-a1"

static struct job_table table;

static int set_up(void **state)
{
    (void)state;
    job_table_init(&table, 7);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    job_table_done(&table);
    return 0;
}

TEST(places_come_back_as_they_were_written)
{
    static const char *const subjects[] = {
        JOB_SUBJECTS ID ".q.1.0",
        JOB_SUBJECTS ID ".h.12.0",
        JOB_SUBJECTS ID ".e.1.1794000000",
    };

    for (size_t i = 0; i < sizeof(subjects) / sizeof(*subjects); i++) {
        char text[CLUSTER_SUBJECT_MAX];
        struct job_place place;

        assert_true(job_place_read(subjects[i], &place));
        assert_string_equal(place.id, ID);
        job_place_write(&place, text);
        assert_string_equal(text, subjects[i]);
    }
}

TEST(other_subjects_are_no_places)
{
    static const char *const subjects[] = {
        "",
        JOB_SUBJECTS,
        JOB_SUBJECTS ID,
        JOB_SUBJECTS ID ".",
        JOB_SUBJECTS ID ".h",
        JOB_SUBJECTS ID ".h.1",
        JOB_SUBJECTS ID ".h.0.0",
        JOB_SUBJECTS ID ".h.1001.0",
        JOB_SUBJECTS ID ".h.1.0.0",
        JOB_SUBJECTS ID ".h.1.x",
        JOB_SUBJECTS ID ".h.1.-1",
        JOB_SUBJECTS ID ".h.1. 1",
        JOB_SUBJECTS ID ".h.1.1111111111111111111",
        JOB_SUBJECTS ID ".x.1.0",
        JOB_SUBJECTS "run_0123456789ABCDEFGHJKMNPQRS-a1.h.1.0",
        JOB_SUBJECTS "job_0123456789ABCDEFGHJKMNPQRS.h.1.0",
        "belljar.v1.node.a1.b2",
    };
    struct job_place place;

    for (size_t i = 0; i < sizeof(subjects) / sizeof(*subjects); i++)
        assert_false(job_place_read(subjects[i], &place));
}

TEST(a_path_names_a_job)
{
    char id[ID_SIZE];

    job_id_of_path("/v1/jobs/" ID "/cancel", strlen("/v1/jobs/" ID "/cancel"), id);
    assert_string_equal(id, ID);
    job_id_of_path("/v1/jobs/key:x", strlen("/v1/jobs/key:x"), id);
    assert_string_equal(id, "");
    job_id_of_path("/v1/jobs", strlen("/v1/jobs"), id);
    assert_string_equal(id, "");
}

static void see(unsigned look, const char *homes, const char *ends)
{
    cleanup_json json_t *h = json_text_own(homes, strlen(homes));
    cleanup_json json_t *e = json_text_own(ends, strlen(ends));

    job_table_see_homes(&table, h, look);
    job_table_see_ends(&table, e);
    job_table_sweep(&table, look);
}

TEST_WITH(the_last_home_has_the_job, set_up, tear_down)
{
    const struct kept_job *job;

    see(1, "{\"" JOB_SUBJECTS ID ".h.1.0\":1}", "{}");
    job = job_table_find(&table, ID);
    assert_non_null(job);
    assert_true(job->knows_home);
    assert_string_equal(job->home, "a1");
    see(2, "{\"" JOB_SUBJECTS ID ".h.1.0\":1,\"" JOB_SUBJECTS ID ".h.3.0\":1}",
        "{\"" JOB_SUBJECTS ID ".e.2.99\":1,\"" JOB_SUBJECTS ID ".e.1.88\":1}");
    assert_int_equal(job->last, 3);
    assert_false(job->knows_home);
    assert_true(job->has_end);
    assert_int_equal(job->end_home, 2); /* it went on after an end that came too late */
    assert_int_equal(job->expires_s, 99);
}

TEST_WITH(what_is_not_seen_any_more_goes, set_up, tear_down)
{
    struct kept_job *job;
    struct job_work *const busy = (struct job_work *)&table;

    see(1, "{\"" JOB_SUBJECTS ID ".h.1.0\":1}", "{}");
    job = job_table_find(&table, ID);
    job->work = busy;
    see(2, "{}", "{}");
    assert_int_equal(table.count, 1);
    job->work = NULL;
    see(3, "{}", "{}");
    assert_int_equal(table.count, 0);
    assert_null(job_table_find(&table, ID));
}

UNIT_MAIN()
