#include "cluster/route.h"

#include <stdio.h>

#include "unit.h"

#define ID "0123456789ABCDEFGHJKMNPQRS"

static struct route_target find(const char *line, const char *header)
{
    static char text[1024];
    struct route_target target;
    struct http_refusal why;
    struct http_head head;
    size_t scanned = 0;
    int n = snprintf(text, sizeof(text), "%s HTTP/1.1\r\nHost: %s\r\n\r\n", line,
                     header ? header : "localhost");

    assert_int_equal(http_request_check(text, (size_t)n, &scanned, &head, &why), n);
    route_find(&head, &target);
    return target;
}

TEST(an_id_names_its_node_wherever_it_is)
{
    static const char *const lines[] = {
        "GET /v1/runs/run_" ID "-a1",
        "POST /v1/sessions/ses_" ID "-a1/execute",
        "GET /v1/sessions/ses_" ID "-a1/commands/run_" ID "-a1",
        "POST /messages?session_id=sse_" ID "-a1",
        "GET /v1/undo/x?y=1&run=run_" ID "-a1&z",
    };

    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        struct route_target target = find(lines[i], NULL);

        assert_int_equal(target.who, ROUTE_NODE);
        assert_string_equal(target.node, "a1");
    }
    assert_string_equal(find("GET /x", "8000-ses_" ID "-b2.example.org").node, "b2");
}

TEST(the_header_of_a_session_names_its_node)
{
    assert_string_equal(find("POST /mcp", "x\r\nMcp-Session-Id: mcp_" ID "-b2").node, "b2");
    assert_int_equal(find("POST /mcp", NULL).who, ROUTE_FRESH);
}

TEST(sandboxes_of_the_other_interface_name_theirs)
{
    static const char id[] = "0123456789abcdefghjkmnpqrs-a1";
    char node[13];

    assert_true(route_node_of((struct span){id, strlen(id)}, node));
    assert_string_equal(node, "a1");
    assert_string_equal(find("GET /e2b/sandboxes/0123456789abcdefghjkmnpqrs-b2-belljar", NULL).node,
                        "b2");
    assert_string_equal(find("POST /x", "49983-0123456789abcdefghjkmnpqrs-b2.example.org").node,
                        "b2");
    assert_string_equal(find("POST /x", "x\r\nE2b-Sandbox-Id: 0123456789abcdefghjkmnpqrs-b2").node,
                        "b2");
}

TEST(what_only_looks_like_an_id_is_none)
{
    static const char *const words[] = {
        "run_" ID,
        "run_" ID "-",
        "run_" ID "-A1",
        "run_" ID "-1a",
        "run_" ID "-a1-b",
        "run" ID "-a1",
        "_" ID "-a1",
        "run_0-a1",
        "RUN_" ID "-a1",
        "toolong_" ID "-a1",
        "",
        "run_" ID "-aaaaaaaaaaaaa",
    };
    char node[13];

    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        assert_false(route_node_of((struct span){words[i], strlen(words[i])}, node));
}

TEST(the_table_says_who_answers_the_rest)
{
    assert_int_equal(find("POST /v1/run", NULL).who, ROUTE_FRESH);
    assert_int_equal(find("POST /v1/sessions", NULL).who, ROUTE_OPENS);
    assert_int_equal(find("GET /v1/sessions", NULL).who, ROUTE_ALL);
    assert_string_equal(find("GET /v1/jobs?before=job_" ID "-a1", NULL).list, "jobs");
    assert_string_equal(find("GET /v1/sessions/trial/files/run_x", NULL).name, "trial");
    assert_int_equal(find("GET /v1/sessions/trial", NULL).who, ROUTE_NAME);
    assert_string_equal(find("GET /v1/sessions/a%20b%2fc/files", NULL).name, "a b/c");
    assert_string_equal(find("GET /jupyter/api/kernels/x-y/channels?token=t", NULL).probe,
                        "/jupyter/api/kernels/x-y?token=t");
    assert_int_equal(find("GET /openapi.json", NULL).who, ROUTE_ANY);
    assert_int_equal(find("POST /execute", NULL).who, ROUTE_UNSURE);
}

TEST(a_durable_job_may_be_elsewhere)
{
    struct route_target job = find("POST /v1/jobs/job_" ID "-a1/cancel", NULL);
    struct route_target key = find("GET /v1/jobs/key:a%2Fb?wait_s=1", NULL);

    assert_int_equal(job.who, ROUTE_NODE);
    assert_true(job.is_job);
    assert_string_equal(job.probe, "/v1/jobs/job_" ID "-a1");
    assert_int_equal(key.who, ROUTE_FIND);
    assert_string_equal(key.probe, "/v1/jobs/key:a%2Fb");
    assert_false(find("GET /v1/runs/run_" ID "-a1", NULL).is_job);
    assert_int_equal(find("GET /v1/jobs", NULL).who, ROUTE_ALL);
}

/* The next page begins behind the last item, so one node must not go further back than others. */
TEST(lists_with_pages_have_a_limit)
{
    assert_int_equal(find("GET /v1/jobs", NULL).limit, 100);
    assert_int_equal(find("GET /v1/runs?history=true", NULL).limit, 100);
    assert_int_equal(find("GET /v1/audit/records", NULL).limit, 100);
    assert_int_equal(find("GET /v1/sessions", NULL).limit, 0);
}

TEST(all_nodes_are_asked_for_what_is_of_the_whole_cluster)
{
    static const struct {
        const char *line;
        enum route_who who;
    } rows[] = {
        {"GET /metrics", ROUTE_METRICS},
        {"GET /v1/stats", ROUTE_STATS},
        {"GET /v1/events?kinds=run", ROUTE_EVENTS},
        {"GET /v1/events?session=ses_" ID "-a1", ROUTE_NODE},
        {"GET /v1/cluster/nodes", ROUTE_NODES},
        {"GET /v1/audit/records?limit=5", ROUTE_RECORDS},
        {"GET /v1/audit/records?limit=5&node=b2", ROUTE_NODE},
        {"GET /v1/audit/records?node=B2", ROUTE_RECORDS},
        {"GET /v1/audit/records/7?node=b2", ROUTE_NODE},
        {"GET /v1/audit/records/7", ROUTE_OF},
        {"GET /v1/audit/records/c-7", ROUTE_FIND},
        {"GET /v1/audit/records/run_" ID "-a1", ROUTE_NODE},
        {"POST /v1/audit/verify?node=a1", ROUTE_NODE},
        {"POST /v1/audit/verify", ROUTE_OF},
        {"GET /v1/audit/key", ROUTE_OF},
        {"GET /v1/audit/lines?after=5&node=b2", ROUTE_NODE},
        {"GET /v1/audit/lines?node=", ROUTE_OF},
        {"GET /v1/audit/lines?node=abcdefghijklm", ROUTE_OF},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        assert_int_equal(find(rows[i].line, NULL).who, rows[i].who);
    assert_string_equal(find("GET /v1/audit/lines?after=5&node=b2", NULL).node, "b2");
}

UNIT_MAIN()
