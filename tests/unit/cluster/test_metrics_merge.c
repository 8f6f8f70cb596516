#include "cluster/metrics_merge.h"

#include "base/json.h"
#include "unit.h"

#define RUNS(n)                                                                                    \
    "# HELP belljar_runs_total Runs, by status.\n# TYPE belljar_runs_total counter\n"              \
    "belljar_runs_total{status=\"error\"} " n "\n"
#define SIZE "# TYPE belljar_sessions gauge\nbelljar_sessions 3\n"

static int add(struct metrics_merge *m, const char *node, const char *text)
{
    return metrics_merge_add(m, node, (struct span){text, strlen(text)}, NULL);
}

TEST(series_of_all_nodes_stand_together_with_their_node)
{
    struct metrics_merge *m = metrics_merge_new();
    struct buf out = BUF_OF(METRICS_ALL_BYTES);

    assert_int_equal(add(m, "a1", RUNS("1") SIZE), 0);
    assert_int_equal(add(m, "b2", SIZE RUNS("2e+06")), 0);
    assert_int_equal(metrics_merge_write(m, &out, NULL), 0);
    assert_string_equal(buf_str(&out), "# HELP belljar_runs_total Runs, by status.\n"
                                       "# TYPE belljar_runs_total counter\n"
                                       "belljar_runs_total{node=\"a1\",status=\"error\"} 1\n"
                                       "belljar_runs_total{node=\"b2\",status=\"error\"} 2e+06\n"
                                       "# TYPE belljar_sessions gauge\n"
                                       "belljar_sessions{node=\"a1\"} 3\n"
                                       "belljar_sessions{node=\"b2\"} 3\n");
    buf_done(&out);
    metrics_merge_free(m);
}

TEST(a_histogram_keeps_its_parts)
{
    static const char text[] = "# TYPE belljar_run_seconds histogram\n"
                               "belljar_run_seconds_bucket{le=\"+Inf\"} 2\n"
                               "belljar_run_seconds_sum 0.5\nbelljar_run_seconds_count 2\n";
    struct metrics_merge *m = metrics_merge_new();
    struct buf out = BUF_OF(METRICS_ALL_BYTES);

    assert_int_equal(add(m, "a1", text), 0);
    assert_int_equal(metrics_merge_write(m, &out, NULL), 0);
    assert_non_null(strstr(buf_str(&out), "_bucket{node=\"a1\",le=\"+Inf\"} 2\n"));
    assert_non_null(strstr(buf_str(&out), "_sum{node=\"a1\"} 0.5\n"));
    buf_done(&out);
    metrics_merge_free(m);
}

/* Nothing of such a text is taken, also not what stands before the mistake. */
TEST(a_node_cannot_speak_for_others)
{
    static const char *const texts[] = {
        SIZE "belljar_sessions{node=\"b2\"} 9\n",
        SIZE "belljar_sessions{x=\"1\",node=\"b2\"} 9\n",
        SIZE "belljar_sessions{x=\"1\"}\n",
        SIZE "belljar_sessions{x=\"1\nbelljar_sessions\"} 9\n",
        SIZE "belljar_sessions{x=\"\\x\"} 9\n",
        SIZE "belljar_sessions 9 belljar_sessions 8\n",
        SIZE "belljar_sessions 9\rx 8\n",
        SIZE "belljar_sessions 9",
        SIZE "belljar_other 9\n",
        SIZE "# TYPE belljar_gateway_nodes gauge\nbelljar_gateway_nodes 9\n",
        SIZE "# TYPE belljar_cluster_node_up gauge\nbelljar_cluster_node_up 1\n",
        SIZE "# TYPE node_load gauge\nnode_load 9\n",
        SIZE "# TYPE belljar_x summary\n",
        SIZE "\n",
        SIZE "# EOF\n",
        "{\"error\":{}}",
        "",
    };
    struct metrics_merge *m = metrics_merge_new();
    struct buf out = BUF_OF(METRICS_ALL_BYTES);

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        assert_int_equal(add(m, "a1", texts[i]), -1);
    assert_int_equal(metrics_merge_add(m, "a1", (struct span){SIZE, sizeof(SIZE)}, NULL), -1);
    assert_int_equal(metrics_merge_write(m, &out, NULL), 0);
    assert_int_equal(out.len, 0);
    metrics_merge_free(m);
}

TEST(figures_are_added_by_their_names)
{
    json_t *to = json_loads("{\"you\":{\"name\":\"x\",\"done\":1},\"s\":{\"cpu\":0.5,\"tokens\":"
                            "[{\"name\":\"x\",\"done\":1}]}}",
                            0, NULL);
    json_t *from = json_loads("{\"you\":{\"name\":\"x\",\"done\":2},\"s\":{\"cpu\":1,\"tokens\":"
                              "[{\"name\":\"y\",\"done\":5},{\"name\":\"x\",\"done\":3}]},\"n\":4}",
                              0, NULL);
    json_t *sum = json_loads("{\"you\":{\"name\":\"x\",\"done\":3},\"s\":{\"cpu\":1.5,\"tokens\":"
                             "[{\"name\":\"x\",\"done\":4},{\"name\":\"y\",\"done\":5}]},\"n\":4}",
                             0, NULL);

    figures_add(to, from);
    assert_true(json_equal(to, sum));
    json_decref(to);
    json_decref(from);
    json_decref(sum);
}

TEST(what_is_no_number_stays)
{
    json_t *to = json_loads("{\"a\":9223372036854775807,\"b\":\"x\",\"c\":[1]}", 0, NULL);
    json_t *from = json_loads("{\"a\":1,\"b\":2,\"c\":{\"d\":1}}", 0, NULL);

    figures_add(to, from);
    assert_true(json_is_real(json_object_get(to, "a")));
    assert_string_equal(json_get_text(to, "b"), "x");
    assert_true(json_is_array(json_object_get(to, "c")));
    figures_add(to, json_object_get(to, "c"));
    json_decref(to);
    json_decref(from);
}

UNIT_MAIN()
