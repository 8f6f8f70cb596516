/* The table of limits, held against everything that is made from it: each limit at and beyond both
 * ends of its range through settings, profiles, tokens, HTTP and MCP. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "admit/profile.h"
#include "admit/rights.h"
#include "api/api.h"
#include "api/openapi.h"
#include "base/cleanup.h"
#include "base/config.h"
#include "base/json.h"
#include "mcp/tools.h"
#include "serve/routes.h"

static char path[64];

static int setup(void **state)
{
    int fd;

    (void)state;
    (void)snprintf(path, sizeof(path), "/tmp/belljar-limits.XXXXXX");
    fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
    (void)state;
    return unlink(path);
}

static void write_file(const char *before, const char *name, double value)
{
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    (void)fprintf(file, "%s%s = %.15g\n", before, name, value);
    (void)fclose(file);
}

/* Numbers as a client would write them: whole ones without a point. */
static json_t *number(double value)
{
    return value == (double)(int64_t)value ? json_integer((json_int_t)value) : json_real(value);
}

/* --- the doors: whether each takes the value, and what becomes of it --- */

static bool config_takes(const struct run_limit *limit, double value)
{
    struct run_limits limits = {0};
    struct error err = {0};
    struct config *config = config_new();
    char ceiling[64];
    FILE *file;
    int r;

    write_file("", limit->name, value);
    (void)snprintf(ceiling, sizeof(ceiling), "max_%s", limit->name);
    file = fopen(path, "ae");
    if (config_find(ceiling))
        (void)fprintf(file, "%s = %.15g\n", ceiling, limit->max);
    (void)fclose(file);
    r = config_load(config, path, &err);
    if (r == 0) {
        config_limits(config, CONFIG_FILE, &limits);
        assert_true(run_limit_get(&limits, limit) == value);
    } else {
        assert_error(&err, E_INVALID, limit->name);
    }
    config_free(config);
    return r == 0;
}

static bool profile_takes(const struct run_limit *limit, double value)
{
    struct profile *profile = NULL;
    struct run_limits limits = {0};
    struct error err = {0};
    int r;

    write_file("languages = [\"python\"]\n[limits]\n", limit->name, value);
    r = profile_load(path, "/nonexistent", &profile, &err);
    if (r == 0) {
        profile_apply_limits(profile, &limits);
        assert_true(run_limit_get(&limits, limit) == value);
    } else {
        assert_error(&err, E_INVALID, limit->name);
    }
    profile_free(profile);
    return r == 0;
}

static bool token_takes(const struct run_limit *limit, double value)
{
    struct error err = {0};
    struct rights rights;
    char key[64];
    json_t *json = number(value);
    int r;

    rights_init(&rights);
    (void)snprintf(key, sizeof(key), "max_%s", limit->name);
    r = rights_set_json(&rights, key, json, &err);
    json_decref(json);
    if (r == 0)
        assert_true(rights_limit_max(&rights, limit) == value);
    else
        assert_error(&err, E_INVALID, key);
    return r == 0;
}

static const struct schema_field *find(const struct schema_field *fields, const char *name)
{
    for (; fields && fields->name; fields++)
        if (strcmp(fields->name, name) == 0)
            return fields;
    return NULL;
}

/* Reads a body as the native API does, for a caller with these rights. `ceiling`: the limit whose
 * ceiling the operator has raised to its maximum, or NULL. */
static int ask(const struct rights *rights, const json_t *body, const struct run_limit *ceiling,
               struct run_limits *limits, struct error *err)
{
    struct config *config = config_new();
    struct caller caller = {.rights = *rights};
    struct api api = {.config = config};
    struct admission admission;
    struct run_request asked = {0};
    struct run *run = NULL;
    char name[64];
    int r;

    error_done(err);
    (void)snprintf(name, sizeof(name), "max_%s", ceiling ? ceiling->name : "");
    if (config_find(name)) {
        write_file("", name, ceiling->max);
        assert_int_equal(config_load(config, path, NULL), 0);
    }
    free(config->policies_dir);
    config->policies_dir = strdup(POLICIES_DIR);
    assert_int_equal(profiles_open(config, &api.profiles, NULL), 0);
    admission = api_admission(&api, &caller);
    assert_int_equal(api_read_request(body, NULL, &asked, NULL), 0);
    r = admit_request(&admission, &asked, &run, err);
    if (r == 0)
        *limits = run->terms.limits;
    run_free(run);
    run_request_done(&asked);
    profiles_free(api.profiles);
    config_free(config);
    return r;
}

/* The schema of the field alone, then what is decided on it. */
static bool field_takes(const struct schema_field *field, const struct run_limit *limit,
                        double value)
{
    const struct schema_field fields[] = {*field, {0}};
    json_t *body = json_pack("{s:o}", limit->name, number(value));
    struct run_limits limits = {0};
    struct error err = {0};
    struct rights rights;
    int r = schema_check(fields, body, &err);

    rights_init(&rights);
    if (r == 0) {
        assert_int_equal(ask(&rights, body, limit, &limits, &err), 0);
        assert_true(run_limit_get(&limits, limit) == value);
    } else {
        assert_error(&err, E_INVALID, limit->name);
    }
    json_decref(body);
    return r == 0;
}

/* --- at the ends of the range --- */

static double step(const struct run_limit *limit)
{
    return run_limit_is_whole(limit) ? 1 : 1 / limit->per;
}

#define CHECK_ENDS(takes, ...)                                                                     \
    do {                                                                                           \
        assert_true(takes(__VA_ARGS__ limit, limit->min));                                         \
        assert_true(takes(__VA_ARGS__ limit, limit->max));                                         \
        assert_false(takes(__VA_ARGS__ limit, limit->min - step(limit)));                          \
        assert_false(takes(__VA_ARGS__ limit, limit->max + step(limit)));                          \
    } while (0)

TEST(settings_have_the_range_of_the_table)
{
    for (const struct run_limit *limit = run_limit_table; limit < run_limit_table + RUN_LIMIT_ROWS;
         limit++) {
        const struct config_option *option = config_find(limit->name);
        struct run_limits defaults;

        CHECK_ENDS(config_takes, );
        assert_string_equal(option->help, limit->help);
        run_limits_init(&defaults);
        assert_true(strtod(option->fallback, NULL) == run_limit_get(&defaults, limit));
    }
}

TEST(profiles_have_the_range_of_the_table)
{
    for (const struct run_limit *limit = run_limit_table; limit < run_limit_table + RUN_LIMIT_ROWS;
         limit++)
        CHECK_ENDS(profile_takes, );
}

/* A token cannot be bound to 0, which means "no limit". */
TEST(tokens_have_the_range_of_the_table)
{
    for (const struct run_limit *limit = run_limit_table; limit < run_limit_table + RUN_LIMIT_ROWS;
         limit++) {
        double least = run_limit_has_none(limit) ? step(limit) : limit->min;
        bool is_asked = limit->scope != RUN_LIMIT_OF_OPERATOR;

        assert_int_equal(token_takes(limit, least), is_asked);
        assert_int_equal(token_takes(limit, limit->max), is_asked);
        assert_false(token_takes(limit, least - step(limit)));
        assert_false(token_takes(limit, limit->max + step(limit)));
    }
}

/* Every body of every route that has a field with the name of a limit. */
TEST(bodies_have_the_range_of_the_table)
{
    static const char *const whole[] = {"/v1/run", "/v1/sessions", "/v1/batch"};
    size_t seen = 0, n_whole = 0;

    for (const struct route *const *table = serve_routes; *table; table++)
        for (const struct route *route = *table; route->method; route++)
            for (const struct run_limit *limit = run_limit_table;
                 limit < run_limit_table + RUN_LIMIT_ROWS; limit++) {
                const struct schema_field *field = find(route->body, limit->name);

                if (!field)
                    continue;
                assert_true(limit->scope != RUN_LIMIT_OF_OPERATOR);
                CHECK_ENDS(field_takes, field, );
                seen++;
                for (size_t i = 0; i < ARRAY_SIZE(whole); i++)
                    n_whole += strcmp(route->path, whole[i]) == 0;
            }
    assert_int_equal(n_whole, ARRAY_SIZE(whole) * RUN_LIMIT_REQUEST_ROWS);
    assert_true(seen > n_whole); /* cells */
}

TEST(tools_have_the_range_of_the_table)
{
    static const struct mcp_tool *const tools[] = {&mcp_tool_python, &mcp_tool_bash};
    size_t seen = 0;

    for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
        for (const struct run_limit *limit = run_limit_table;
             limit < run_limit_table + RUN_LIMIT_ROWS; limit++) {
            const struct schema_field *field = find(tools[i]->input, limit->name);

            if (!field)
                continue;
            CHECK_ENDS(field_takes, field, );
            seen++;
        }
    assert_int_equal(seen, ARRAY_SIZE(tools));
}

TEST(the_description_of_a_session_has_its_limits)
{
    json_t *value = openapi_json(serve_routes), *limits;

    limits = json_object_get(json_object_get(value, "components"), "schemas");
    limits = json_object_get(json_object_get(limits, "Session"), "properties");
    limits = json_object_get(json_object_get(limits, "limits"), "properties");
    assert_int_equal(json_object_size(limits), RUN_LIMIT_REQUEST_ROWS);
    assert_non_null(json_object_get(limits, run_limit_table[0].name));
    json_decref(value);
}

TEST(the_guide_says_what_the_table_says)
{
    cleanup(buf_done) struct buf text = {0};
    int fd = open(LIMITS_GUIDE, O_RDONLY | O_CLOEXEC);
    char expected[256];

    assert_true(fd >= 0);
    buf_init(&text, MIB);
    assert_int_equal(buf_read_fd(&text, fd, NULL), 0);
    (void)close(fd);
    for (const struct run_limit *limit = run_limit_table; limit < run_limit_table + RUN_LIMIT_ROWS;
         limit++) {
        const struct config_option *ceiling;

        (void)snprintf(expected, sizeof(expected), "\n| `%s` | %.15g | %.15g | %.15g | ",
                       limit->name, limit->min, limit->max, limit->fallback);
        assert_contains(buf_str(&text), expected);
        (void)snprintf(expected, sizeof(expected), "max_%s", limit->name);
        ceiling = config_find(expected);
        (void)snprintf(expected, sizeof(expected), "`max_%s` (%s)", limit->name,
                       ceiling ? ceiling->fallback : "");
        if (ceiling)
            assert_contains(buf_str(&text), expected);
    }
}

/* --- bounds of the operator and of tokens --- */

static int ask_for(struct rights rights, const char *name, double value, struct run_limits *limits,
                   struct error *err)
{
    json_t *body = json_pack("{s:o}", name, number(value));
    int r = ask(&rights, body, NULL, limits, err);

    json_decref(body);
    return r;
}

TEST(a_token_may_use_all_it_has)
{
    struct run_limits limits = {0};
    struct error err = {0};
    struct rights rights;

    rights_init(&rights);
    rights.max_disk_mb = 8192;
    assert_int_equal(ask_for(rights, "disk_mb", 8192, &limits, &err), 0);
    assert_int_equal(limits.disk_bytes, 8192 * MIB);
    assert_true(ask_for(rights, "disk_mb", 8193, &limits, &err) < 0);
    assert_error(&err, E_INVALID, "`disk_mb`: this token allows at most 8192");
    assert_true(ask_for(rights, "output_bytes", 4194305, &limits, &err) < 0);
    assert_error(&err, E_INVALID, "`output_bytes`: the operator allows at most 4194304");
}

TEST(no_limit_is_above_every_bound)
{
    struct run_limits limits = {0};
    struct error err = {0};
    struct rights rights;

    rights_init(&rights);
    rights.max_cpus = 0.5;
    rights.max_cpu_time_s = 10;
    assert_true(ask_for(rights, "cpus", 0, &limits, &err) < 0);
    assert_error(&err, E_INVALID, "`cpus`: this token allows at most 0.5");
    assert_true(ask_for(rights, "cpu_time_s", 0, &limits, &err) < 0);
    assert_error(&err, E_INVALID, "`cpu_time_s`: this token allows at most 10");
    rights_lower(&rights, &limits);
    assert_int_equal(limits.cpu_percent, 50);
    assert_int_equal(limits.cpu_ms, 10000);
}

TEST(a_share_too_small_to_count_is_the_smallest_share)
{
    struct run_limits limits = {0};
    struct error err = {0};
    struct rights rights;

    rights_init(&rights);
    assert_int_equal(ask_for(rights, "cpus", 0.001, &limits, &err), 0);
    assert_int_equal(limits.cpu_percent, 1);
    assert_int_equal(ask_for(rights, "cpu_time_s", 0.0001, &limits, &err), 0);
    assert_int_equal(limits.cpu_ms, 1);
    assert_int_equal(ask_for(rights, "cpus", 0.29, &limits, &err),
                     0); /* 28.999… of binary fractions */
    assert_int_equal(limits.cpu_percent, 29);
}

/* --- old spellings --- */

static struct profile *profile_with(const char *text, struct error *err)
{
    struct profile *profile = NULL;
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    (void)fprintf(file, "languages = [\"python\"]\n[limits]\n%s", text);
    (void)fclose(file);
    error_done(err);
    (void)profile_load(path, "/nonexistent", &profile, err);
    return profile;
}

TEST(old_spellings_of_profiles_are_taken_with_a_hint)
{
    struct run_limits limits = {0};
    struct error err = {0};
    struct profile *profile = profile_with("cpu_s = 30\ncpu_percent = 50\n", &err);
    char text[128];

    assert_non_null(profile);
    profile_apply_limits(profile, &limits);
    assert_int_equal(limits.cpu_ms, 30000);
    assert_int_equal(limits.cpu_percent, 50);
    assert_true(profile_old_limit(profile, 0, text, sizeof(text)));
    assert_string_equal(text, "`limits.cpu_s` is now called `limits.cpu_time_s`");
    assert_true(profile_old_limit(profile, 1, text, sizeof(text)));
    assert_string_equal(text, "`limits.cpu_percent` is now called `limits.cpus`");
    assert_false(profile_old_limit(profile, 2, text, sizeof(text)));
    profile_free(profile);

    assert_null(profile_with("cpu_percent = 102401\n", &err));
    assert_error(&err, E_INVALID, "`limits.cpu_percent` is 102401, expected 0 to 102400");
    assert_null(profile_with("cpu_s = \"1\"\n", &err));
    assert_error(&err, E_INVALID, "`limits.cpu_s` is text, expected a number");
    error_done(&err);
}

TEST(two_names_of_one_limit_are_refused)
{
    struct error err = {0};

    assert_null(profile_with("cpus = 1\ncpu_percent = 50\n", &err));
    assert_error(&err, E_INVALID, "`limits.cpu_percent` is the old name of `limits.cpus`");
    assert_null(profile_with("cpu_percent = 50\ncpus = 1\n", &err));
    assert_error(&err, E_INVALID, "`limits.cpu_percent` is the old name of `limits.cpus`");
    error_done(&err);
}

TEST(our_own_profiles_use_the_new_names)
{
    static const char *const names[] = {"strict", "standard",    "open",   "pyrunner",
                                        "cms",    "marketplace", "devskyy"};
    char text[128];

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        struct profile *profile = NULL;
        struct error err = {0};

        if (profile_load(names[i], POLICIES_DIR, &profile, &err) < 0)
            fail_msg("%s: %s", names[i], err.message);
        assert_false(profile_old_limit(profile, 0, text, sizeof(text)));
        profile_free(profile);
    }
}

UNIT_MAIN_WITH(setup, teardown)
