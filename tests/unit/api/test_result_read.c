#include "unit.h"

#include "api/result.h"
#include "api/result_read.h"
#include "base/json.h"

static json_t *parse(const char *text)
{
    static const struct json_text_limits limits = {
        .bytes = 64 * KIB, .depth = 32, .allows_nul = true, .allows_scalar = true};
    json_t *value = NULL;
    struct error err = {0};

    assert_int_equal(json_text_load(text, strlen(text), &limits, &value, &err), 0);
    return value;
}

static struct run *read_text(const char *text)
{
    json_t *object = parse(text);
    struct run *run = run_new();
    struct error err = {0};

    assert_int_equal(result_read(object, run, &err), 0);
    json_decref(object);
    return run;
}

TEST(a_result_is_read_as_it_was_written)
{
    struct run *run = read_text(
        "{\"status\":\"error\",\"exit_code\":139,\"signal\":11,\"result\":{\"text\":\"[1]\"},"
        "\"error\":{\"name\":\"E\",\"message\":\"m\",\"traceback\":\"t\",\"line\":3,\"hint\":\"h\"}"
        ","
        "\"violations\":[{\"rule\":\"import\",\"name\":\"os\",\"line\":1,\"column\":8,"
        "\"message\":\"no\",\"hint\":null}],\"violations_more\":2,"
        "\"usage\":{\"wall_ms\":1.5,\"cpu_ms\":1,\"memory_peak_bytes\":4096,\"start_ms\":0.5,"
        "\"processes_peak\":2},\"denials\":[{\"what\":\"w\",\"layer\":\"l\",\"hint\":\"h\","
        "\"count\":4}],\"denials_more\":9}");

    assert_int_equal(run->result.status, RUN_ERROR);
    assert_int_equal(run->result.exit_code, 139);
    assert_int_equal(run->result.signal, 11);
    assert_string_equal(run->result.value_text, "[1]");
    assert_string_equal(run->result.exception.name, "E");
    assert_string_equal(run->result.exception.hint, "h");
    assert_int_equal(run->result.exception.line, 3);
    assert_int_equal(run->result.n_violations, 1);
    assert_string_equal(run->result.violations[0].message, "no");
    assert_null(run->result.violations[0].hint);
    assert_int_equal(run->result.violations_more, 2);
    assert_int_equal(run->result.usage.memory_peak_bytes, 4096);
    assert_int_equal(run->result.n_denials, 1);
    assert_string_equal(run->result.denials[0].layer, "l");
    assert_string_equal(run->result.denials[0].hint, "h");
    assert_int_equal(run->result.denials[0].count, 4);
    assert_int_equal(run->result.denials_more, 9);
    run_free(run);
}

TEST(what_is_no_result_is_refused)
{
    static const char *const bad[] = {"{}",
                                      "[]",
                                      "7",
                                      "{\"status\":\"nonsense\"}",
                                      "{\"status\":null}",
                                      "{\"status\":\"running\"}"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        json_t *object = parse(bad[i]);
        struct run *run = run_new();
        struct error err = {0};

        assert_int_equal(result_read(object, run, &err), -1);
        assert_error(&err, E_PROTOCOL, "is not a result");
        run_free(run);
        json_decref(object);
    }
}

TEST(wild_values_do_no_harm)
{
    struct buf text;
    struct run *run = read_text(
        "{\"status\":\"refused\",\"exit_code\":1e300,\"signal\":-1,\"result\":[],\"error\":7,"
        "\"violations\":[7,{\"line\":-1,\"column\":1e300,\"message\":[]}],\"violations_more\":-5,"
        "\"denials\":[7,{\"what\":7,\"layer\":\"x\"},{\"what\":\"a\\nb\",\"layer\":\"l\",\"count\":"
        "-1,"
        "\"hint\":[]}],\"denials_more\":-1,"
        "\"usage\":{\"wall_ms\":\"x\",\"memory_peak_bytes\":-1}}");

    assert_int_equal(run->result.n_violations, 2);
    assert_int_equal(run->result.violations[1].line, 0);
    assert_int_equal(run->result.signal, 0);
    assert_int_equal(run->result.n_denials, 1);
    assert_string_equal(run->result.denials[0].what, "a?b");
    assert_null(run->result.denials[0].hint);
    assert_int_equal(run->result.denials[0].count, 1);
    assert_int_equal(run->result.denials_more, 0);
    buf_init(&text, 64 * KIB);
    assert_int_equal(result_human(run, false, &text, NULL), 0);
    buf_done(&text);
    run_free(run);
}

TEST(a_run_has_one_result)
{
    static const char many[] = "{\"status\":\"refused\",\"violations\":[{},{},{}]}";
    struct run *run = read_text(many);
    json_t *second = parse("{\"status\":\"refused\",\"violations\":[{}]}");
    struct error err = {0};

    assert_int_equal(result_read(second, run, &err), -1);
    assert_error(&err, E_PROTOCOL, "two results");
    assert_int_equal(run->result.n_violations, 3);
    run_free(run);
    json_decref(second);
}

TEST(forms_of_one_thing_stay_together)
{
    json_t *forms =
        parse("[{\"bundle\":0,\"mime\":\"text/plain\",\"data\":\"a\"},"
              "{\"bundle\":0,\"mime\":\"image/png\",\"data\":\"AAEC\","
              "\"encoding\":\"base64\",\"width\":2,\"height\":3},"
              "{\"bundle\":1,\"mime\":\"application/json\",\"data\":{\"k\":[1]}},"
              "{\"bundle\":2,\"mime\":7,\"data\":\"x\"},"
              "{\"bundle\":3,\"mime\":\"image/png\",\"data\":\"!\",\"encoding\":\"base64\"},"
              "7]");
    struct run *run = run_new();

    result_read_displays(forms, run);
    assert_int_equal(run->result.n_displays, 2);
    assert_int_equal(run->result.displays[0].n_forms, 2);
    assert_memory_equal(run->result.displays[0].forms[1].data, "\0\1\2", 3);
    assert_contains(run->result.displays[0].metadata, "\"width\":2");
    assert_string_equal(run->result.displays[1].forms[0].data, "{\"k\":[1]}");
    result_read_displays(NULL, run);
    assert_int_equal(run->result.n_displays, 2);
    run_free(run);
    json_decref(forms);
}

UNIT_MAIN()
