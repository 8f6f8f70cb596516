#include "unit.h"

#include <fcntl.h>
#include <unistd.h>

#include "api/result.h"
#include "base/cleanup.h"
#include "base/error_json.h"
#include "base/json.h"
#include "base/spool.h"
#include "base/stream.h"
#include "mask/masker.h"
#include "wire/message.h"

static int setup(void **state)
{
    *state = run_new();
    return *state ? 0 : -1;
}

static int teardown(void **state)
{
    run_free(*state);
    return 0;
}

static void print(struct run *run, const char *out, const char *err_text)
{
    struct error err = {0};

    assert_int_equal(run_stream_add(&run->result.out, masker_pass_unmasked(out, strlen(out)), &err),
                     0);
    assert_int_equal(
        run_stream_add(&run->result.err, masker_pass_unmasked(err_text, strlen(err_text)), &err),
        0);
}

static void add_violation(struct run *run, const char *message, const char *hint)
{
    struct run_violation *grown = realloc(
        run->result.violations, (run->result.n_violations + 1) * sizeof(*run->result.violations));

    assert_non_null(grown);
    run->result.violations = grown;
    run->result.violations[run->result.n_violations++] = (struct run_violation){
        strdup("import"), strdup("os"), 1, 8, strdup(message), hint ? strdup(hint) : NULL};
}

static char *as_json(const struct run *run)
{
    struct error err = {0};
    json_t *object = NULL;
    struct buf out;

    assert_int_equal(result_json(run, HINT_FOR_HTTP, &object, &err), 0);
    buf_init(&out, 100000);
    assert_int_equal(json_text_dump(object, JSON_TEXT_COMPACT, &out, &err), 0);
    json_decref(object);
    return out.data;
}

static char *as_human(const struct run *run, bool has_color)
{
    struct error err = {0};
    struct buf out;

    buf_init(&out, 100000);
    assert_int_equal(result_human(run, has_color, &out, &err), 0);
    return out.data;
}

TEST_WITH(a_success_has_every_field_in_order, setup, teardown)
{
    struct run *run = *state;
    char *text;

    memcpy(run->id, "run_X", 6);
    print(run, "hello\n", "");
    run->terms.profile = "standard";
    run->result.value_text = strdup("6");
    run->result.value_json = strdup("6");
    run->result.usage = (struct run_usage){.wall_ms = 1.9,
                                           .cpu_ms = 1.2,
                                           .memory_peak_bytes = 8400896,
                                           .start_ms = 0.4,
                                           .processes_peak = 1};
    run->result.layers = LAYER_USER_NS | LAYER_SECCOMP;
    text = as_json(run);
    assert_string_equal(
        text,
        "{\"id\":\"run_X\",\"status\":\"success\",\"exit_code\":0,\"stdout\":\"hello\\n\","
        "\"stderr\":\"\","
        "\"truncated\":{\"stdout\":false,\"stderr\":false},\"output_handle\":null,"
        "\"result\":{\"text\":\"6\",\"json\":6},\"displays\":[],\"error\":null,\"violations\":[],"
        "\"usage\":{\"wall_ms\":1.9,\"cpu_ms\":1.2,\"memory_peak_bytes\":8400896,\"start_ms\":0.4,"
        "\"processes_peak\":1},\"masked\":{\"count\":0,\"kinds\":[]},\"files\":[],\"session_id\":"
        "null,\"session_state\":null,"
        "\"correlation_id\":null,\"profile\":\"standard\",\"isolation\":\"namespaces\","
        "\"layers\":[\"user-namespace\",\"seccomp\"],\"deterministic\":null,\"violations_more\":0,"
        "\"displays_more\":0,"
        "\"files_gone\":[],"
        "\"files_truncated\":false,\"signal\":null,\"net\":null,\"denials\":[],"
        "\"denials_more\":0,\"hint\":null}");
    free(text);
}

TEST_WITH(an_exception_is_an_object_with_its_line, setup, teardown)
{
    struct run *run = *state;
    char *text;

    run->result.status = RUN_ERROR;
    run->result.exit_code = 1;
    run->result.exception = (struct run_exception){
        strdup("ZeroDivisionError"), strdup("division by zero"), strdup("Traceback…"), 3, NULL};
    text = as_json(run);
    assert_contains(text, "\"status\":\"error\",\"exit_code\":1");
    assert_contains(
        text, "\"error\":{\"name\":\"ZeroDivisionError\",\"message\":\"division by zero\","
              "\"traceback\":\"Traceback…\",\"line\":3,\"hint\":null,\"said_by\":\"program\"}");
    assert_contains(text, "\"result\":null");
    free(text);
}

TEST_WITH(files_are_listed_by_what_became_of_them, setup, teardown)
{
    struct run *run = *state;
    char *text;

    run->result.files = calloc(4, sizeof(*run->result.files));
    run->result.n_files = 4;
    run->result.files[0] = (struct run_file){strdup("a.csv"), 120, RUN_FILE_NEW};
    run->result.files[1] = (struct run_file){strdup("b\n\xff"), 0, RUN_FILE_CHANGED};
    run->result.files[2] = (struct run_file){strdup("c"), 7, RUN_FILE_GONE};
    run->result.files[3] = (struct run_file){strdup("huge"), INT64_MAX, RUN_FILE_NEW};
    run->result.has_more_files = true;
    text = as_json(run);
    assert_contains(text, "\"files\":[{\"path\":\"a.csv\",\"size\":120},"
                          "{\"path\":\"b\\\\x0a\\\\xff\",\"size\":0},"
                          "{\"path\":\"huge\",\"size\":9223372036854775807}]");
    assert_contains(text, "\"files_gone\":[\"c\"],\"files_truncated\":true");
    free(text);
}

TEST_WITH(output_that_is_kept_elsewhere_has_a_handle, setup, teardown)
{
    struct spool_directory *store = NULL;
    struct run *run = *state;
    char *text;

    assert_int_equal(spool_directory_new(NULL, 1000, &store, NULL), 0);
    run_stream_done(&run->result.err);
    run_stream_init(&run->result.err, 10);
    run_stream_spill(&run->result.err, store, NULL);
    print(run, "", "0123456789");
    memcpy(run->id, "run_X", 6);
    text = as_json(run);
    assert_contains(text, "\"output_handle\":null");
    free(text);
    print(run, "", "x");
    text = as_json(run);
    assert_contains(text,
                    "\"truncated\":{\"stdout\":false,\"stderr\":true},\"output_handle\":\"run_X\"");
    free(text);
    spool_free(run_stream_take_spool(&run->result.err));
    spool_directory_free(store);
}

TEST_WITH(a_refusal_lists_violations_and_has_no_exit_code, setup, teardown)
{
    struct run *run = *state;
    char *text;

    run->result.status = RUN_REFUSED;
    add_violation(run, "`os` is not allowed", "use api.filesystem");
    text = as_json(run);
    assert_contains(text, "\"status\":\"refused\",\"exit_code\":null");
    assert_contains(text,
                    "\"violations\":[{\"rule\":\"import\",\"name\":\"os\",\"line\":1,\"column\":8,"
                    "\"message\":\"`os` is not allowed\",\"hint\":\"use api.filesystem\"}]");
    free(text);
}

TEST_WITH(a_signal_shows_in_the_exit_code, setup, teardown)
{
    struct run *run = *state;
    char *text;

    run->result.status = RUN_ERROR;
    run->result.signal = 11;
    run->result.exit_code = 139;
    text = as_json(run);
    assert_contains(text, "\"exit_code\":139");
    free(text);
    text = as_human(run, false);
    assert_contains(text, "error · signal 11 (Segmentation fault)");
    free(text);
}

TEST_WITH(what_the_program_calls_json_is_not_believed, setup, teardown)
{
    static const char *const lies[] = {"{", "[1,]", "{\"a\":1,\"a\":2}", "1e999",
                                       "x\",\"status\":\"success"};
    struct run *run = *state;
    char deep[1001];

    run->result.value_text = strdup("text");
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        char *text;

        free(run->result.value_json);
        run->result.value_json = strdup(lies[i]);
        text = as_json(run);
        assert_contains(text, "\"result\":{\"text\":\"text\",\"json\":null}");
        free(text);
    }
    memset(deep, '[', 500);
    memset(deep + 500, ']', 500);
    deep[1000] = '\0';
    free(run->result.value_json);
    run->result.value_json = strdup(deep);
    {
        char *text = as_json(run);

        assert_contains(text, "\"json\":null");
        free(text);
    }
}

TEST_WITH(hostile_output_stays_inside_its_string, setup, teardown)
{
    struct run *run = *state;
    char *text;

    print(run, "\"},{\"status\":\"\033[2J\xff", "\xc2\x9b");
    text = as_json(run);
    assert_contains(text, "\"stdout\":\"\\\"},{\\\"status\\\":\\\"\\u001B[2J\uFFFD\"");
    assert_contains(text, "\"stderr\":\"\\u009b\"");
    free(text);
}

TEST_WITH(truncation_is_told_and_marked, setup, teardown)
{
    struct run *run = *state;
    char *text;

    run_stream_init(&run->result.out, 8);
    print(run, "0123456789abcdef", "");
    text = as_json(run);
    assert_contains(text, "\"stdout\":\"0123\\n… [8 bytes dropped] …\\ncdef\"");
    assert_contains(text, "\"truncated\":{\"stdout\":true,\"stderr\":false}");
    free(text);
}

TEST_WITH(an_error_of_ours_is_an_object_of_its_own, setup, teardown)
{
    struct error err = {0};
    json_t *object;
    char *text;

    error_set(&err, E_BUSY, "no room");
    error_hint(&err, "later");
    object = error_json(&err, HINT_FOR_HTTP);
    text = json_dumps(object, JSON_COMPACT);
    assert_string_equal(
        text, "{\"error\":{\"code\":\"busy\",\"message\":\"no room\",\"hint\":\"later\"}}");
    free(text);
    json_decref(object);
    error_done(&err);
}

TEST_WITH(a_person_sees_status_time_and_memory, setup, teardown)
{
    struct run *run = *state;
    char *text;

    run->result.usage.wall_ms = 1.94;
    run->result.usage.memory_peak_bytes = 8 * MIB;
    text = as_human(run, false);
    assert_string_equal(text, "belljar: success · 1.9 ms · 8.0 MB\n");
    free(text);
    run->result.usage.wall_ms = 2345;
    text = as_human(run, true);
    assert_string_equal(text, "belljar: \033[32msuccess\033[0m · 2.35 s · 8.0 MB\n");
    free(text);
}

TEST_WITH(at_a_prompt_only_what_is_new_is_said, setup, teardown)
{
    struct run *run = *state;
    cleanup(buf_done) struct buf out = {0};

    buf_init(&out, 10000);
    run->result.usage.wall_ms = 1;
    assert_int_equal(result_cell(run, false, &out, NULL), 0);
    assert_string_equal(buf_str(&out), "");
    run->result.status = RUN_ERROR;
    run->result.exit_code = 7;
    assert_int_equal(result_cell(run, false, &out, NULL), 0);
    assert_string_equal(buf_str(&out), "belljar: error · exit 7 · 1.0 ms · 0.0 MB\n");
    buf_clear(&out);
    run->result.exception.name = strdup("ValueError");
    run->result.exception.message = strdup("no");
    assert_int_equal(result_cell(run, false, &out, NULL), 0);
    assert_string_equal(buf_str(&out), "ValueError: no\n");
}

TEST_WITH(a_person_sees_violations_with_hints, setup, teardown)
{
    struct run *run = *state;
    char *text;

    run->result.status = RUN_REFUSED;
    add_violation(run, "`os` is not allowed", "use api.filesystem");
    add_violation(run, "no\nlines \033[31m", NULL);
    run->result.violations_more = 3;
    text = as_human(run, false);
    assert_string_equal(text, "line 1, column 8: `os` is not allowed\n"
                              "  hint: use api.filesystem\n"
                              "line 1, column 8: no\\nlines \\x1b[31m\n"
                              "and 3 more\n"
                              "belljar: refused · nothing was run · 5 violations\n");
    free(text);
}

TEST_WITH(a_traceback_is_shown_once, setup, teardown)
{
    struct run *run = *state;
    char *text;

    run->result.status = RUN_ERROR;
    run->result.exit_code = 1;
    run->result.exception =
        (struct run_exception){strdup("ValueError"), strdup("x"),
                               strdup("Traceback\n  ValueError: x\033[2J"), 3, strdup("check x")};
    text = as_human(run, false);
    assert_contains(text, "Traceback\n  ValueError: x\\x1b[2J\nhint: check x\n"
                          "belljar: error · exit 1");
    free(text);
    print(run, "", "Traceback\n  ValueError: x\033[2J\n");
    text = as_human(run, false);
    assert_null(strstr(text, "Traceback"));
    assert_contains(text, "hint: check x\n");
    free(text);
}

TEST_WITH(an_exception_without_traceback_has_its_line, setup, teardown)
{
    struct run *run = *state;
    char *text;

    run->result.status = RUN_ERROR;
    run->result.exit_code = 1;
    run->result.exception =
        (struct run_exception){strdup("ValueError"), strdup("x"), NULL, 3, NULL};
    text = as_human(run, false);
    assert_contains(text, "ValueError: x (line 3)\nbelljar: error · exit 1");
    free(text);
}

TEST_WITH(a_denial_says_what_who_and_how, setup, teardown)
{
    struct run *run = *state;
    char *text;

    run->result.status = RUN_TIMEOUT;
    assert_int_equal(run_deny(run, "run for more than 1.5 s", RUN_LAYER_TIME, "raise it"), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(run_deny(run, "write a\nb\033[2J\xff", "write grant", NULL), 0);
    text = as_human(run, false);
    assert_contains(text, "belljar: denied: run for more than 1.5 s [time limit]\nhint: raise it\n"
                          "belljar: denied: write a?b?[2J? [write grant], 3 times\n"
                          "belljar: timeout · ");
    free(text);
    text = as_json(run);
    assert_contains(text, "\"denials\":[{\"what\":\"run for more than 1.5 s\",\"layer\":\"time "
                          "limit\",\"hint\":\"raise it\",\"count\":1},{\"what\":\"write "
                          "a?b?[2J?\",\"layer\":\"write grant\",\"hint\":null,\"count\":3}],"
                          "\"denials_more\":0");
    free(text);
}

TEST_WITH(the_value_is_shown_unless_it_was_printed, setup, teardown)
{
    struct run *run = *state;
    char *text;

    run->result.value_text = strdup("42\n\033[0m");
    text = as_human(run, false);
    assert_contains(text, "result: 42\\n\\x1b[0m\n");
    free(text);
    run->program.auto_print = true;
    text = as_human(run, false);
    assert_null(strstr(text, "42"));
    free(text);
}

UNIT_MAIN()
