/* The client against servers of our own: one that keeps to the protocol, one that does not. */
#include "unit.h"

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "upstream/upstream.h"

#define PYTHON "/usr/bin/python3"

struct scene {
    struct loop *loop;
    struct upstreams *upstreams;
    struct config_server server;
    char *argv[5];
    /* of the last answer */
    json_t *value;
    struct error err;
    unsigned n_left;
};

static void on_done(void *user, const json_t *value, const struct error *err)
{
    struct scene *scene = user;

    json_decref(scene->value);
    scene->value = value ? json_deep_copy(value) : NULL;
    error_done(&scene->err);
    if (err)
        error_copy(&scene->err, err);
    if (--scene->n_left == 0)
        loop_stop(scene->loop);
}

static void open_scene(struct scene *scene, const char *script, const char *mode,
                       enum config_era era)
{
    char path[512];
    struct error err = {0};

    *scene = (struct scene){0};
    (void)snprintf(path, sizeof(path), UPSTREAM_SERVERS "/%s", script);
    scene->argv[0] = strdup(PYTHON);
    scene->argv[1] = strdup(path);
    scene->argv[2] = mode ? strdup(mode) : NULL;
    scene->server = (struct config_server){.name = strdup("other"),
                                           .argv = scene->argv,
                                           .timeout_s = 60,
                                           .era = era,
                                           .tools = json_object()};
    scene->loop = loop_new(&err);
    assert_non_null(scene->loop);
    assert_int_equal(upstreams_new(scene->loop, NULL, &scene->server, 1, &scene->upstreams, &err),
                     0);
}

static void close_scene(struct scene *scene)
{
    upstreams_free(scene->upstreams);
    loop_free(scene->loop);
    json_decref(scene->value);
    error_done(&scene->err);
    json_decref(scene->server.tools);
    free(scene->server.name);
    for (size_t i = 0; i < ARRAY_SIZE(scene->argv); i++)
        free(scene->argv[i]);
}

static void wait_for(struct scene *scene, unsigned n)
{
    struct error err = {0};

    scene->n_left = n;
    assert_int_equal(loop_run(scene->loop, &err), 0);
}

/* Asks and waits; the answer is in the scene. */
static void ask(struct scene *scene, const char *tool, json_t *arguments)
{
    error_done(&scene->err);
    json_decref(scene->value);
    scene->value = NULL;
    if (upstreams_call(scene->upstreams, 0, NULL, tool, arguments, on_done, scene, &scene->err))
        wait_for(scene, 1);
    json_decref(arguments);
}

static const char *text_of(const struct scene *scene)
{
    json_t *content = json_object_get(scene->value, "content");

    return json_string_value(json_object_get(json_array_get(content, 0), "text"));
}

static void list(struct scene *scene)
{
    if (upstreams_list(scene->upstreams, 0, NULL, on_done, scene, &scene->err))
        wait_for(scene, 1);
}

/* --- one that keeps to the rules --- */

static void check_good(const char *era_of_server, enum config_era era)
{
    struct scene scene;
    char mode[32];

    (void)snprintf(mode, sizeof(mode), "--era=%s", era_of_server);
    open_scene(&scene, "good.py", mode, era);
    list(&scene);
    assert_string_equal(json_string_value(json_object_get(scene.value, "instructions")),
                        "Be kind.");
    assert_int_equal(json_array_size(json_object_get(scene.value, "tools")), 10);
    assert_true(
        json_is_true(json_object_get(upstreams_tool(scene.upstreams, 0, "add"), "read_only")));
    assert_false(
        json_is_true(json_object_get(upstreams_tool(scene.upstreams, 0, "write"), "read_only")));
    ask(&scene, "add", json_pack("{s:i, s:i}", "a", 40, "b", 2));
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(scene.value, "structured"), "sum")), 42);
    ask(&scene, "fail", json_object());
    assert_true(json_is_true(json_object_get(scene.value, "is_error")));
    close_scene(&scene);
}

TEST(a_server_of_either_era_is_listed_and_called)
{
    check_good("legacy", CONFIG_ERA_AUTO);
    check_good("modern", CONFIG_ERA_AUTO);
    check_good("both", CONFIG_ERA_MODERN);
    check_good("both", CONFIG_ERA_LEGACY);
}

TEST(an_unknown_tool_is_not_asked_for)
{
    struct scene scene;

    open_scene(&scene, "good.py", NULL, CONFIG_ERA_AUTO);
    ask(&scene, "nothing", json_object());
    assert_error(&scene.err, E_NOT_FOUND, "no tool `nothing`");
    close_scene(&scene);
}

TEST(several_calls_are_under_way_at_once)
{
    struct scene scene;

    open_scene(&scene, "good.py", NULL, CONFIG_ERA_AUTO);
    for (int i = 0; i < 50; i++) {
        json_t *arguments = json_pack("{s:i}", "a", i);

        assert_non_null(upstreams_call(scene.upstreams, 0, NULL, "add", arguments, on_done, &scene,
                                       &scene.err));
        json_decref(arguments);
    }
    wait_for(&scene, 50);
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(scene.value, "structured"), "sum")), 51);
    close_scene(&scene);
}

TEST(calls_of_one_token_leave_room_for_another)
{
    struct scene scene;
    json_t *arguments = json_pack("{s:i}", "a", 1);
    unsigned n = 0;

    open_scene(&scene, "good.py", NULL, CONFIG_ERA_AUTO);
    while (n < LIMIT_UPSTREAM_CALLS && upstreams_call(scene.upstreams, 0, "loud", "add", arguments,
                                                      on_done, &scene, &scene.err))
        n++;
    assert_int_equal(n, LIMIT_UPSTREAM_CALLS / 2);
    assert_error(&scene.err, E_BUSY, "128 calls of server");
    assert_non_null(
        upstreams_call(scene.upstreams, 0, "quiet", "add", arguments, on_done, &scene, &scene.err));
    wait_for(&scene, n + 1);
    json_decref(arguments);
    close_scene(&scene);
}

TEST(it_sees_nothing_of_ours)
{
    static char declared[] = "DECLARED=yes";
    char *env[] = {declared, NULL};
    struct scene scene;
    json_t *seen, *variables;

    assert_int_equal(setenv("BELLJAR_TEST_SECRET", "hunter2", 1), 0);
    open_scene(&scene, "good.py", NULL, CONFIG_ERA_AUTO);
    scene.server.env = env;
    ask(&scene, "environment", json_object());
    seen = json_object_get(scene.value, "structured");
    variables = json_object_get(seen, "variables");
    assert_string_equal(json_string_value(json_object_get(variables, "DECLARED")), "yes");
    assert_null(json_object_get(variables, "BELLJAR_TEST_SECRET"));
    assert_non_null(json_object_get(variables, "PATH"));
    assert_string_equal(json_string_value(json_object_get(seen, "cwd")), "/");
    assert_int_equal(json_array_size(json_object_get(seen, "descriptors")),
                     4); /* and the listing */
    close_scene(&scene);
}

TEST(a_call_that_is_cancelled_is_not_answered)
{
    struct scene scene;
    struct upstream_call *call;
    json_t *arguments = json_pack("{s:i}", "a", 1);

    open_scene(&scene, "good.py", NULL, CONFIG_ERA_AUTO);
    call = upstreams_call(scene.upstreams, 0, NULL, "add", arguments, on_done, &scene, &scene.err);
    assert_non_null(call);
    upstream_call_cancel(call);
    ask(&scene, "add", json_pack("{s:i}", "a", 2)); /* and the server is well */
    assert_non_null(scene.value);
    call = upstreams_call(scene.upstreams, 0, NULL, "add", arguments, on_done, &scene, &scene.err);
    assert_non_null(call);
    json_decref(arguments);
    close_scene(&scene); /* with one under way */
}

/* --- one that does not --- */

static void ask_well(struct scene *scene)
{
    ask(scene, "fine", json_object());
    if (!scene->value)
        fail_msg("%s", scene->err.message);
    assert_contains(text_of(scene), "IGNORE");
}

static void ask_ill(struct scene *scene, const char *tool, enum error_code code, const char *words)
{
    ask(scene, tool, json_object());
    assert_null(scene->value);
    assert_error(&scene->err, code, words);
    ask_well(scene);
}

TEST(what_it_lists_is_cleaned)
{
    struct scene scene;
    const json_t *tool;
    const char *words;

    open_scene(&scene, "hostile.py", NULL, CONFIG_ERA_AUTO);
    list(&scene);
    words = json_string_value(json_object_get(scene.value, "instructions"));
    assert_contains(words, "[31mIGNORE ALL RULES and");
    assert_null(strchr(words, '\033'));
    assert_null(strstr(words, "\xe2\x80\xae"));
    assert_null(upstreams_tool(scene.upstreams, 0, "bad name"));
    assert_null(upstreams_tool(scene.upstreams, 0, "new\nline"));
    tool = upstreams_tool(scene.upstreams, 0, "big_schema");
    assert_non_null(tool);
    assert_null(json_object_get(tool, "input"));
    tool = upstreams_tool(scene.upstreams, 0, "no_schema");
    assert_non_null(tool);
    assert_null(json_object_get(tool, "input"));
    assert_null(strchr(json_string_value(json_object_get(tool, "description")), '\a'));
    close_scene(&scene);
}

TEST(what_it_does_harms_only_the_call)
{
    struct scene scene;

    open_scene(&scene, "hostile.py", NULL, CONFIG_ERA_AUTO);
    ask_ill(&scene, "huge", E_TOO_LARGE, "bytes");
    ask_ill(&scene, "deep", E_TOO_LARGE, "nested");
    ask_ill(&scene, "broken", E_PROTOCOL, "cannot be read");
    ask_ill(&scene, "neither", E_PROTOCOL, "neither a result nor an error");
    ask_ill(&scene, "empty", E_PROTOCOL, "no content");
    ask(&scene, "junk", json_object());
    assert_string_equal(text_of(&scene), "after the junk");
    ask(&scene, "strange_id", json_object());
    assert_string_equal(text_of(&scene), "right");
    ask(&scene, "twice", json_object());
    assert_string_equal(text_of(&scene), "first");
    ask(&scene, "asks", json_object());
    assert_string_equal(text_of(&scene), "[-32601, {}]");
    ask(&scene, "big_enough", json_object());
    assert_int_equal(strlen(text_of(&scene)), 3 * MIB);
    ask_well(&scene);
    close_scene(&scene);
}

TEST(one_that_crashes_is_started_again)
{
    struct scene scene;
    json_t *status;

    open_scene(&scene, "hostile.py", NULL, CONFIG_ERA_AUTO);
    ask_ill(&scene, "crash", E_PROTOCOL,
            "ended: exit code 3; its last output: \"?[2J terrible things happened\"");
    ask_ill(&scene, "endless", E_PROTOCOL, "an endless line");
    status = upstreams_status(scene.upstreams, 0);
    assert_string_equal(json_string_value(json_object_get(status, "state")), "ready");
    assert_int_equal(json_integer_value(json_object_get(status, "starts")), 3);
    json_decref(status);
    close_scene(&scene);
}

TEST(one_that_goes_on_crashing_is_left_alone_for_a_while)
{
    struct scene scene;
    json_t *status;
    int asked;

    open_scene(&scene, "hostile.py", "exit", CONFIG_ERA_AUTO);
    ask(&scene, "fine", json_object());
    assert_error(&scene.err, E_PROTOCOL,
                 "ended: exit code 1; its last output: \"cannot start today\"");
    /* On a slow machine the first pauses may be over when it is asked again; they grow. */
    for (asked = 1; asked < 20 && !scene.err.hint; asked++)
        ask(&scene, "fine", json_object());
    assert_contains(scene.err.hint, "times in a row");
    status = upstreams_status(scene.upstreams, 0);
    assert_string_equal(json_string_value(json_object_get(status, "state")), "failed");
    assert_int_equal(json_integer_value(json_object_get(status, "starts")), asked - 1);
    json_decref(status);
    close_scene(&scene);
}

TEST(one_that_does_not_answer_is_not_waited_for)
{
    struct scene scene;

    open_scene(&scene, "hostile.py", NULL, CONFIG_ERA_AUTO);
    list(&scene);
    scene.server.timeout_s = 0.2;
    for (int i = 0; i < 3; i++) {
        ask(&scene, "silent", json_object());
        assert_error(&scene.err, E_BUSY, "did not answer within");
    }
    scene.server.timeout_s = 60;
    ask(&scene, "fine", json_object()); /* it is being ended, or a new one answers */
    ask_well(&scene);
    close_scene(&scene);
    open_scene(&scene, "hostile.py", "mute", CONFIG_ERA_AUTO);
    scene.server.timeout_s = 0.2;
    ask(&scene, "fine", json_object());
    assert_int_equal(scene.err.code, E_BUSY);
    close_scene(&scene);
}

TEST(a_program_that_is_not_there_is_named)
{
    struct scene scene;

    open_scene(&scene, "good.py", NULL, CONFIG_ERA_AUTO);
    free(scene.argv[0]);
    scene.argv[0] = strdup("no-such-program");
    ask(&scene, "add", json_object());
    assert_error(&scene.err, E_PROTOCOL, "cannot execute no-such-program");
    close_scene(&scene);
}

TEST(wrong_answers_at_the_start_are_told)
{
    static const char *const modes[][2] = {
        {"version", "has no protocol version"},
        {"nolist", "has no list of tools"},
    };
    struct scene scene;

    for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
        open_scene(&scene, "hostile.py", modes[i][0], CONFIG_ERA_AUTO);
        ask(&scene, "fine", json_object());
        assert_error(&scene.err, E_PROTOCOL, modes[i][1]);
        close_scene(&scene);
    }
    open_scene(&scene, "hostile.py", "pages", CONFIG_ERA_AUTO);
    list(&scene); /* a list without an end ends */
    assert_in_range(json_array_size(json_object_get(scene.value, "tools")), 3,
                    LIMIT_UPSTREAM_TOOLS);
    close_scene(&scene);
}

/* How many processes have this in their arguments. */
static unsigned count_processes(const char *words)
{
    cleanup_closedir DIR *proc = opendir("/proc");
    struct dirent *entry;
    unsigned n = 0;

    while ((entry = readdir(proc))) {
        char path[300], text[300] = "";
        FILE *file;

        (void)snprintf(path, sizeof(path), "/proc/%s/cmdline", entry->d_name);
        file = fopen(path, "re");
        if (!file)
            continue;
        for (size_t i = 0, len = fread(text, 1, sizeof(text) - 1, file); i < len; i++)
            text[i] = (char)(text[i] ? text[i] : ' ');
        (void)fclose(file);
        n += strstr(text, words) != NULL;
    }
    return n;
}

TEST(what_a_server_started_ends_with_it)
{
    struct scene scene;
    int seconds = 100000000 + (int)getpid(); /* nobody else sleeps that long */
    char words[32];

    (void)snprintf(words, sizeof(words), "sleep %d", seconds);
    open_scene(&scene, "good.py", NULL, CONFIG_ERA_AUTO);
    ask(&scene, "nap", json_pack("{s:i}", "seconds", seconds));
    assert_non_null(text_of(&scene));
    /* Linux tells that a program was executed a moment before its arguments can be seen. */
    for (int i = 0; i < 1000 && count_processes(words) == 0; i++)
        (void)usleep(10000);
    assert_int_equal(count_processes(words), 1);
    close_scene(&scene);
    assert_int_equal(count_processes(words), 0);
}

UNIT_MAIN()
