#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/config.h"

static char dir[] = "/tmp/belljar-config-XXXXXX";
static char file[64];

static int group_setup(void **state)
{
    (void)state;
    if (!mkdtemp(dir))
        return -1;
    (void)snprintf(file, sizeof(file), "%s/belljar/config.toml", dir);
    /* The files and variables of whoever runs the tests are not part of them. */
    clearenv();
    return setenv("XDG_CONFIG_HOME", dir, 1);
}

static int group_teardown(void **state)
{
    char sub[64];

    (void)state;
    (void)snprintf(sub, sizeof(sub), "%s/belljar", dir);
    (void)unlink(file);
    (void)rmdir(sub);
    return rmdir(dir);
}

/* Writes the user's file. */
static void write_file(const char *text)
{
    char sub[64];
    int fd;

    (void)snprintf(sub, sizeof(sub), "%s/belljar", dir);
    (void)mkdir(sub, 0700);
    fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(close(fd), 0);
}

static int setup(void **state)
{
    *state = config_new();
    return *state ? 0 : -1;
}

static int teardown(void **state)
{
    config_free(*state);
    (void)unlink(file);
    return 0;
}

static void load(struct config *config)
{
    struct error err = {0};

    if (config_load(config, NULL, &err) < 0)
        fail_msg("%s", err.message);
}

/* Loads what must fail; the message names the file, the line and both sides. */
static void expect_mistake(struct config *config, const char *text, const char *part,
                           const char *hint)
{
    struct error err = {0};

    write_file(text);
    assert_true(config_load(config, NULL, &err) < 0);
    assert_contains(err.message, file);
    if (hint)
        assert_contains(err.hint, hint);
    else
        assert_null(err.hint);
    assert_error(&err, E_INVALID, part);
}

TEST_WITH(every_default_is_valid_and_in_place, setup, teardown)
{
    const struct config *config = *state;

    assert_string_equal(config->profile, "standard");
    assert_string_equal(config->environment, "system");
    assert_int_equal(config->preload.count, 7);
    assert_string_equal(config->preload.items[1], "pandas");
    assert_int_equal(config->allow.count, 0);
    assert_true(config->timeout_s == 30);
    assert_int_equal(config->memory_mb, 1024);
    assert_int_equal(config->pids, 256);
    assert_int_equal(config->descriptors, 256);
    assert_int_equal(config->disk_mb, 256);
    assert_int_equal(config->output_bytes, 1048576);
    assert_int_equal(config->pool_size, -1);
    assert_string_equal(config->color, "auto");
}

TEST_WITH(defaults_of_the_table_and_of_a_run_agree, setup, teardown)
{
    struct run *run = run_new();
    struct run_limits limits = {0};

    config_limits(*state, CONFIG_DEFAULT, &limits);
    assert_memory_equal(&limits, &run->terms.limits, sizeof(limits));
    run_free(run);
}

TEST_WITH(every_row_has_help_and_a_name_of_its_own, setup, teardown)
{
    size_t count;
    const struct config_option *options = config_options(&count);

    for (size_t i = 0; i < count; i++) {
        assert_true(strlen(options[i].help) > 10);
        assert_int_not_equal(options[i].help[strlen(options[i].help) - 1], '.');
        assert_ptr_equal(config_find(options[i].name), &options[i]);
        assert_true(!options[i].flag || options[i].value);
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(options[i].offset, options[j].offset);
    }
    assert_null(config_find("nothing"));
}

TEST_WITH(a_file_sets_values_of_every_type, setup, teardown)
{
    struct config *config = *state;
    cleanup_free char *source = NULL;

    write_file("# mine\ntimeout_s = 2.5\nmemory_mb = \"1G\"\npids = 9\nprofile = \"strict\"\n"
               "allow = [\"/a,b\", \"/c:rw\"]\noutput_bytes = \"64K\"\ncolor = \"NEVER\"\n");
    load(config);
    assert_true(config->timeout_s == 2.5);
    assert_int_equal(config->memory_mb, 1024);
    assert_int_equal(config->pids, 9);
    assert_string_equal(config->profile, "strict");
    assert_int_equal(config->allow.count, 2);
    assert_string_equal(config->allow.items[0], "/a,b");
    assert_int_equal(config->output_bytes, 65536);
    assert_string_equal(config->color, "never");
    source = config_source_text(config, config_find("pids"));
    assert_contains(source, "belljar/config.toml:4");
}

TEST_WITH(missing_files_are_no_mistake_unless_named, setup, teardown)
{
    struct error err = {0};

    load(*state);
    assert_true(config_load(*state, "/nonexistent/config.toml", &err) < 0);
    assert_error(&err, E_NOT_FOUND, "/nonexistent/config.toml");
}

TEST_WITH(a_named_file_stands_in_for_the_usual_ones, setup, teardown)
{
    struct config *config = *state;
    struct error err = {0};
    char other[96];
    FILE *out;

    write_file("pids = 9\n");
    (void)snprintf(other, sizeof(other), "%s/other.toml", dir);
    out = fopen(other, "we");
    assert_non_null(out);
    (void)fputs("inodes = 99\n", out);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(config_load(config, other, &err), 0);
    assert_int_equal(config->pids, 256);
    assert_int_equal(config->inodes, 99);
    assert_int_equal(unlink(other), 0);
}

TEST_WITH(an_unknown_key_names_its_line_and_its_neighbour, setup, teardown)
{
    expect_mistake(*state, "pids = 3\ntiemout_s = 3\n",
                   ":2: read the unknown option `tiemout_s`, expected one that", "`timeout_s`");
    expect_mistake(*state, "zzzzzz = 3\n", ":1: read the unknown option `zzzzzz`", NULL);
}

TEST_WITH(a_wrong_type_says_what_was_read_and_expected, setup, teardown)
{
    expect_mistake(*state, "\npids = \"many\"\n",
                   ":2: `pids`: read `\"many\"`, expected a whole number from 1 to 4096", NULL);
    expect_mistake(*state, "pids = 1.5\n", "read `1.5`, expected a whole number", NULL);
    expect_mistake(*state, "pids = true\n", "read `true`, expected a whole number", NULL);
    expect_mistake(*state, "profile = 3\n", "read `3`, expected text", NULL);
    expect_mistake(*state, "profile = \"\"\n", "read ``, expected text that is not empty", NULL);
    expect_mistake(*state, "allow = \"/x\"\n", "expected a list of text", NULL);
    expect_mistake(*state, "allow = [1]\n", "read `[1]`, expected a list of text", NULL);
    expect_mistake(*state, "memory_mb = \"1X\"\n", "read `1X`, expected a whole number", NULL);
    expect_mistake(*state, "pids = {a = 1}\n", "read `{\"a\":1}`", NULL);
}

TEST_WITH(what_was_read_is_shown_in_part, setup, teardown)
{
    char text[400];

    memset(text, 'x', sizeof(text));
    (void)snprintf(text, 10, "color = \"");
    text[9] = 'x';
    (void)snprintf(text + 300, 10, "\"\n");
    expect_mistake(*state, text, "xxx…`, expected one of `auto`, `always`, `never`", NULL);
}

TEST_WITH(a_wrong_choice_gets_the_nearest, setup, teardown)
{
    expect_mistake(*state, "color = \"alwys\"\n",
                   "`color`: read `alwys`, expected one of `auto`, `always`, `never`", "`always`");
}

TEST_WITH(out_of_range_states_the_range, setup, teardown)
{
    expect_mistake(*state, "pids = 0\n", "read `0`, expected a whole number from 1 to 4096", NULL);
    expect_mistake(*state, "pids = 99999999999999\n", "expected a whole number from 1 to 4096",
                   "max_pids");
    expect_mistake(*state, "timeout_s = 0.5\n", "expected a number from 1 to 300 seconds", NULL);
    expect_mistake(*state, "output_bytes = \"1G\"\n", "read `1G`", "max_output_bytes");
    expect_mistake(*state, "memory_mb = \"100K\"\n", "read `100K`", NULL);
}

TEST_WITH(above_the_ceiling_says_how_to_raise_it, setup, teardown)
{
    expect_mistake(*state, "timeout_s = 900\n",
                   ":1: `timeout_s`: read `900`, expected a number from 1 to 300 seconds",
                   "`max_timeout_s` in the configuration, or BELLJAR_MAX_TIMEOUT_S");
}

TEST_WITH(a_large_number_above_the_ceiling_is_shown_whole, setup, teardown)
{
    expect_mistake(*state, "output_bytes = \"8M\"\n",
                   ":1: `output_bytes`: read `8388608`, expected a whole number from 1 to 4194304",
                   "`max_output_bytes` in the configuration, or BELLJAR_MAX_OUTPUT_BYTES");
}

TEST_WITH(the_operator_may_raise_a_ceiling, setup, teardown)
{
    struct config *config = *state;

    write_file("timeout_s = 900\nmax_timeout_s = 1000\nmax_memory_mb = 8192\nmemory_mb = 4096\n");
    load(config);
    assert_true(config->timeout_s == 900);
    assert_int_equal(config->memory_mb, 4096);
}

TEST_WITH(a_lower_ceiling_lowers_the_default, setup, teardown)
{
    struct config *config = *state;
    struct error err = {0};

    write_file("max_timeout_s = 10\n");
    load(config);
    assert_true(config->timeout_s == 10);
    assert_true(config_set_flag(config, "timeout", "11", &err) < 0);
    assert_error(&err, E_INVALID, "`--timeout`: read `11`, expected a number from 1 to 10 seconds");
}

TEST_WITH(the_environment_beats_the_file_and_a_flag_beats_both, setup, teardown)
{
    struct config *config = *state;
    struct error err = {0};
    cleanup_free char *source = NULL;

    write_file("pids = 5\ndisk_mb = 5\ninodes = 500\n");
    (void)setenv("BELLJAR_PIDS", "6", 1);
    (void)setenv("BELLJAR_DISK_MB", "6", 1);
    /* Before loading, as a command line does it. */
    assert_int_equal(config_set_flag(config, "pids", "7", &err), 0);
    load(config);
    (void)unsetenv("BELLJAR_PIDS");
    (void)unsetenv("BELLJAR_DISK_MB");
    assert_int_equal(config->pids, 7);
    assert_int_equal(config->disk_mb, 6);
    assert_int_equal(config->inodes, 500);
    source = config_source_text(config, config_find("pids"));
    assert_string_equal(source, "flag --pids");
    free(take_ptr(source));
    source = config_source_text(config, config_find("disk_mb"));
    assert_string_equal(source, "environment BELLJAR_DISK_MB");
}

TEST_WITH(an_address_in_two_variables_is_one, setup, teardown)
{
    struct config *config = *state;

    (void)setenv("CODERUNNER_FASTMCP_PORT", "8333", 1);
    load(config);
    assert_string_equal(config->listen, "127.0.0.1:8333");
    (void)setenv("CODERUNNER_FASTMCP_HOST", "::1", 1);
    load(config);
    assert_string_equal(config->listen, "[::1]:8333");
    (void)setenv("BELLJAR_LISTEN", "127.0.0.1:9999", 1);
    load(config);
    assert_string_equal(config->listen, "127.0.0.1:9999");
    (void)unsetenv("BELLJAR_LISTEN");
    (void)unsetenv("CODERUNNER_FASTMCP_HOST");
    (void)unsetenv("CODERUNNER_FASTMCP_PORT");
}

TEST_WITH(names_of_older_systems_are_honoured, setup, teardown)
{
    struct config *config = *state;
    cleanup_free char *source = NULL;

    (void)setenv("EXECUTION_TIMEOUT", "12", 1);
    (void)setenv("MEMORY_LIMIT_MB", "256", 1);
    (void)setenv("ALLOWED_DIRECTORIES", " /a , /b:rw,", 1);
    (void)setenv("CODERUNNER_MAX_KERNEL_CPU", "1.5", 1);
    load(config);
    (void)unsetenv("EXECUTION_TIMEOUT");
    (void)unsetenv("MEMORY_LIMIT_MB");
    (void)unsetenv("ALLOWED_DIRECTORIES");
    (void)unsetenv("CODERUNNER_MAX_KERNEL_CPU");
    assert_true(config->timeout_s == 12);
    assert_int_equal(config->memory_mb, 256);
    assert_int_equal(config->allow.count, 2);
    assert_string_equal(config->allow.items[0], "/a");
    assert_string_equal(config->allow.items[1], "/b:rw");
    assert_true(config->cpus == 1.5);
    source = config_source_text(config, config_find("memory_mb"));
    assert_string_equal(source, "environment MEMORY_LIMIT_MB");
}

TEST_WITH(our_own_variable_beats_the_older_name, setup, teardown)
{
    struct config *config = *state;

    (void)setenv("EXECUTION_TIMEOUT", "12", 1);
    (void)setenv("BELLJAR_TIMEOUT_S", "13", 1);
    load(config);
    (void)unsetenv("EXECUTION_TIMEOUT");
    (void)unsetenv("BELLJAR_TIMEOUT_S");
    assert_true(config->timeout_s == 13);
}

TEST_WITH(a_bad_variable_is_named, setup, teardown)
{
    static const char *const bad[] = {"abc", "12x", " 12", "0x10", "nan", "inf", "1e999", "-"};
    struct error err = {0};

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        (void)setenv("EXECUTION_TIMEOUT", bad[i], 1);
        assert_true(config_load(*state, NULL, &err) < 0);
        assert_error(&err, E_INVALID, "environment variable `EXECUTION_TIMEOUT`: read `");
    }
    (void)unsetenv("EXECUTION_TIMEOUT");
}

TEST_WITH(an_empty_variable_is_unset_but_an_empty_list_is_meant, setup, teardown)
{
    struct config *config = *state;

    write_file("pids = 5\nallow = [\"/a\"]\n");
    (void)setenv("BELLJAR_PIDS", "", 1);
    (void)setenv("BELLJAR_ALLOW", "", 1);
    load(config);
    (void)unsetenv("BELLJAR_PIDS");
    (void)unsetenv("BELLJAR_ALLOW");
    assert_int_equal(config->pids, 5);
    assert_int_equal(config->allow.count, 0);
}

TEST_WITH(a_slip_in_a_variable_of_ours_is_noticed, setup, teardown)
{
    struct error err = {0};

    (void)setenv("BELLJAR_TIMOUT_S", "5", 1);
    assert_true(config_load(*state, NULL, &err) < 0);
    (void)unsetenv("BELLJAR_TIMOUT_S");
    assert_contains(err.hint, "`BELLJAR_TIMEOUT_S`");
    assert_error(&err, E_INVALID, "`BELLJAR_TIMOUT_S`");

    (void)setenv("BELLJAR_SOMETHING_ELSE_ENTIRELY", "5", 1);
    load(*state);
    (void)unsetenv("BELLJAR_SOMETHING_ELSE_ENTIRELY");
}

TEST_WITH(flags_are_checked_where_they_are_set, setup, teardown)
{
    struct config *config = *state;
    struct error err = {0};

    load(config);
    assert_int_equal(config_set_flag(config, "memory", "1G", &err), 0);
    assert_int_equal(config->memory_mb, 1024);
    assert_true(config_set_flag(config, "memory", "4G", &err) < 0);
    assert_contains(err.hint, "max_memory_mb");
    assert_error(&err, E_INVALID,
                 "`--memory`: read `4096`, expected a whole number from 16 to 2048");
    assert_true(config_set_flag(config, "pids", "x", &err) < 0);
    assert_error(&err, E_INVALID, "`--pids`: read `x`, expected a whole number from 1 to 4096");
    assert_true(config_set_flag(config, "tiemout", "3", &err) < 0);
    assert_contains(err.hint, "`--timeout`");
    assert_error(&err, E_INVALID, "unknown option `--tiemout`");
}

TEST_WITH(a_flag_set_too_early_meets_the_ceiling_at_loading, setup, teardown)
{
    struct error err = {0};

    assert_int_equal(config_set_flag(*state, "timeout", "900", &err), 0);
    assert_true(config_load(*state, NULL, &err) < 0);
    assert_error(&err, E_INVALID, "`--timeout`: read `900`, expected a number from 1 to 300");
}

TEST_WITH(repeated_list_flags_add_up_and_replace_the_file, setup, teardown)
{
    struct config *config = *state;
    struct error err = {0};

    write_file("allow = [\"/from-file\"]\n");
    assert_int_equal(config_set_flag(config, "allow", "/x,y", &err), 0);
    assert_int_equal(config_set_flag(config, "allow", "/z:rw", &err), 0);
    load(config);
    assert_int_equal(config->allow.count, 2);
    assert_string_equal(config->allow.items[0], "/x,y");
    assert_string_equal(config->allow.items[1], "/z:rw");
}

TEST_WITH(a_list_has_an_end, setup, teardown)
{
    struct error err = {0};
    int r = 0;

    for (int i = 0; i < 1000 && r == 0; i++)
        r = config_set_flag(*state, "allow", "/x", &err);
    assert_true(r < 0);
    assert_error(&err, E_TOO_LARGE, "more than 256 items");
}

TEST_WITH(limits_are_given_by_the_strength_of_their_source, setup, teardown)
{
    struct config *config = *state;
    struct run_limits limits = {0};
    struct error err = {0};

    write_file("pids = 5\n");
    load(config);
    assert_int_equal(config_set_flag(config, "timeout", "2.5", &err), 0);
    assert_int_equal(config_set_flag(config, "cpus", "0.5", &err), 0);
    config_limits(config, CONFIG_FLAG, &limits);
    assert_int_equal(limits.timeout_ms, 2500);
    assert_int_equal(limits.cpu_percent, 50);
    assert_int_equal(limits.processes, 0);
    config_limits(config, CONFIG_FILE, &limits);
    assert_int_equal(limits.processes, 5);
    assert_int_equal(limits.inodes, 0);
    config_limits(config, CONFIG_DEFAULT, &limits);
    assert_int_equal(limits.inodes, 10000);
    assert_int_equal(limits.timeout_ms, 2500);
}

TEST_WITH(environments_are_found_by_name, setup, teardown)
{
    struct config *config = *state;
    const struct config_list *preload = NULL;
    const char *python = NULL;
    struct error err = {0};

    write_file("environment = \"reports\"\n[environments.reports]\npython = \"/srv/venv\"\n"
               "preload = [\"pandas\"]\n[environments.bare]\npython = \"/srv/bare\"\n");
    load(config);
    assert_int_equal(config_environment(config, config->environment, &python, &preload, &err), 0);
    assert_string_equal(python, "/srv/venv");
    assert_int_equal(preload->count, 1);

    assert_int_equal(config_set_flag(config, "environment", "bare", &err), 0);
    assert_int_equal(config_environment(config, config->environment, &python, &preload, &err), 0);
    assert_string_equal(python, "/srv/bare");
    assert_ptr_equal(preload, &config->preload);

    assert_int_equal(config_set_flag(config, "environment", "./venv", &err), 0);
    assert_int_equal(config_environment(config, config->environment, &python, &preload, &err), 0);
    assert_string_equal(python, "./venv");

    assert_int_equal(config_set_flag(config, "environment", "system", &err), 0);
    assert_int_equal(config_environment(config, config->environment, &python, &preload, &err), 0);
    assert_null(python);

    assert_int_equal(config_set_flag(config, "environment", "report", &err), 0);
    assert_true(config_environment(config, config->environment, &python, &preload, &err) < 0);
    assert_contains(err.hint, "`reports`");
    assert_error(&err, E_NOT_FOUND, "there is no environment `report`");
}

TEST_WITH(mistakes_in_environments_have_their_lines, setup, teardown)
{
    expect_mistake(*state, "[environments.a]\npyton = \"/x\"\n",
                   ":2: read the unknown option `environments.a.pyton`, expected `python`",
                   "`python`");
    expect_mistake(*state, "[environments.a]\npython = \"x\"\n", ":2: `environments.a.python`",
                   NULL);
    expect_mistake(*state, "[environments]\na = 1\n", ":2: `environments.a`", NULL);
    expect_mistake(*state, "environments = 1\n", ":1: `environments`", NULL);
    expect_mistake(*state, "[environments.a]\npreload = [1]\n", ":2: `environments.a.preload`",
                   NULL);
}

TEST_WITH(servers_are_read_with_what_they_need, setup, teardown)
{
    struct config *config = *state;
    const struct config_server *server;

    assert_int_equal(setenv("NOTES_TOKEN", "hunter2", 1), 0);
    write_file("[servers.notes]\ncommand = \"notes\"\nargs = [\"--stdio\", \"\"]\n"
               "env = { TOKEN = \"x-${NOTES_TOKEN}-y\" }\ncwd = \"/srv\"\ntimeout_s = 5\n"
               "tools = { delete = \"deny\", \"*\" = \"ask\", read = \"allow\" }\n"
               "[servers.web]\nurl = \"https://example.org/mcp\"\nera = \"modern\"\n"
               "headers = { Authorization = \"Bearer ${NOTES_TOKEN}\" }\n");
    load(config);
    assert_int_equal(config->n_servers, 2);
    server = &config->servers[0];
    assert_string_equal(server->name, "notes");
    assert_string_equal(server->argv[0], "notes");
    assert_string_equal(server->argv[1], "--stdio");
    assert_string_equal(server->argv[2], "");
    assert_null(server->argv[3]);
    assert_string_equal(server->env[0], "TOKEN=x-hunter2-y");
    assert_true(server->timeout_s == 5);
    assert_int_equal(config_server_consent(server, "delete"), CONFIG_DENY);
    assert_int_equal(config_server_consent(server, "read"), CONFIG_ALLOW);
    assert_int_equal(config_server_consent(server, "other"), CONFIG_ASK);
    server = &config->servers[1];
    assert_null(server->argv);
    assert_string_equal(server->headers[0], "Authorization: Bearer hunter2");
    assert_int_equal(server->era, CONFIG_ERA_MODERN);
    assert_int_equal(config_server_consent(server, "read"), CONFIG_AUTO);
}

struct mistake {
    const char *text, *part, *hint;
};

/* Each in a configuration of its own. */
static void expect_mistakes(const struct mistake *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct config *config = config_new();

        assert_non_null(config);
        expect_mistake(config, rows[i].text, rows[i].part, rows[i].hint);
        config_free(config);
    }
}

TEST_WITH(mistakes_in_servers_have_their_lines, setup, teardown)
{
    static const struct mistake rows[] = {
        {"servers = 1\n", "tables of the form", NULL},
        {"[servers.a]\n", "either a `command` or a `url`", NULL},
        {"[servers.a]\ncommand = \"x\"\nurl = \"http://x\"\n", "either a", NULL},
        {"[servers.A]\ncommand = \"x\"\n", "a name of lower-case letters", NULL},
        {"[servers.search]\ncommand = \"x\"\n", "other than host, search and", NULL},
        {"[servers.\"a b\"]\ncommand = \"x\"\n", "a name of lower-case letters", NULL},
        {"[servers.a]\ncommand = [\"x\"]\n", "a program", NULL},
        {"[servers.a]\ncommand = \"./x\"\n", "an absolute path", NULL},
        {"[servers.a]\ncommand = \"x\"\nargs = \"y\"\n", "an array of strings", NULL},
        {"[servers.a]\nargs = [\"y\"]\nurl = \"http://x\"\n", "only with a `command`", NULL},
        {"[servers.a]\nurl = \"ftp://x\"\n", "an http or https URL", NULL},
        {"[servers.a]\nurl = \"http://x\"\nenv = {A = \"b\"}\n", "only with a `command`", NULL},
        {"[servers.a]\nurl = \"http://x\"\nheaders = {\"a:\" = \"b\"}\n", "names and strings",
         NULL},
        {"[servers.a]\nurl = \"http://x\"\nheaders = {a = \"b\\r\\nc: d\"}\n", "of one line", NULL},
        {"[servers.a]\ncommand = \"x\"\ntimeout_s = 0\n", "from 1 to 3600", NULL},
        {"[servers.a]\ncommand = \"x\"\nera = \"old\"\n", "`auto`, `legacy` or `modern`", NULL},
        {"[servers.a]\ncommand = \"x\"\ntools = {a = \"maybe\"}\n", "`allow`, `ask`", NULL},
        {"[servers.a]\ncomand = \"x\"\n", "an option of servers", "did you mean `command`?"},
        {"[servers.a]\ncommand = \"x\"\nenv = {A = \"${UNSET_HERE}\"}\n", "that is set",
         "UNSET_HERE"},
    };

    expect_mistakes(rows, ARRAY_SIZE(rows));
}

TEST_WITH(mistakes_in_functions_have_their_lines, setup, teardown)
{
#define FUNCTION "[functions.f]\ndescription = \"d\"\ncommand = [\"/bin/true\"]\n"
    static const struct mistake rows[] = {
        {"functions = 1\n", "tables of the form", NULL},
        {"[functions.f]\n", "a `command` or a `request`", NULL},
        {"[functions.F]\n", "a name of lower-case letters", NULL},
        {"[functions.f]\ncommand = []\n", "an array of strings", NULL},
        {"[functions.f]\ncommand = [1]\n", "an array of strings", NULL},
        {"[functions.f]\ndescription = \"d\"\ncommand = [\"true\"]\n", "the absolute path", NULL},
        {"[functions.f]\ndescription = \"d\"\ncommand = [\"/bin/true\", \"{a}\"]\n",
         "only parameters in", NULL},
        {FUNCTION "request = \"GET https://a.org/\"\n", "a `command` or a `request`", NULL},
        {FUNCTION "headers = {a = \"b\"}\n", "only with a `request`", NULL},
        {"[functions.f]\ndescription = \"d\"\nrequest = \"GET https://{a}/\"\n",
         "only after the host", NULL},
        {FUNCTION "callers = []\n", "an array of strings", NULL},
        {FUNCTION "timeout_s = 0\n", "a number of seconds from 1 to 3600", NULL},
        {FUNCTION "per_minute = 1e9\n", "a number of calls from 1 to 100000", NULL},
        {FUNCTION "severity = \"grave\"\n", "read_only, low, medium", NULL},
        {FUNCTION "approval = \"maybe\"\n", "auto, never or always", NULL},
        {FUNCTION "parameters = 1\n", "a table of parameters", NULL},
        {FUNCTION "sesion = \"s\"\n", "an option of functions", "did you mean `session`?"},
    };
#undef FUNCTION

    expect_mistakes(rows, ARRAY_SIZE(rows));
}

TEST_WITH(grants_are_taken_apart, setup, teardown)
{
    enum run_grant_mode mode = RUN_GRANT_RW;
    struct error err = {0};
    char *path = NULL;

    assert_int_equal(config_parse_grant("/a", &path, &mode, &err), 0);
    assert_string_equal(path, "/a");
    assert_int_equal(mode, RUN_GRANT_RO);
    free(path);
    assert_int_equal(config_parse_grant("/a:b:rw", &path, &mode, &err), 0);
    assert_string_equal(path, "/a:b");
    assert_int_equal(mode, RUN_GRANT_RW);
    free(path);
    assert_true(config_parse_grant(":ro", &path, &mode, &err) < 0);
    assert_error(&err, E_INVALID, "`:ro`: expected DIR, DIR:ro, DIR:rw or DIR:cow");
    assert_true(config_parse_grant("", &path, &mode, &err) < 0);
    assert_error(&err, E_INVALID, "expected DIR, DIR:ro");
}

static struct config *own_config(const char *text)
{
    struct config *config = config_new();

    write_file(text);
    config_follow_machine(config);
    assert_int_equal(config_load(config, NULL, NULL), 0);
    (void)unlink(file);
    return config;
}

TEST(limits_of_own_runs_follow_the_machine)
{
    cleanup(config_free_p) struct config *config = own_config("");
    struct run_limits limits = {0};

    assert_true(config->timeout_s == 0);
    assert_true(config->memory_mb >= 512 && config->disk_mb >= config->memory_mb / 2 - 1);
    assert_int_equal(config->pids, 4096);
    assert_true(config->inodes >= 10000 && config->inodes <= 1000000);
    assert_true(config->max_timeout_s == RUN_LIMIT_MAX_timeout_s);
    config_limits(config, CONFIG_DEFAULT, &limits);
    assert_int_equal(limits.timeout_ms, 0);
    assert_int_equal(config_set_flag(config, "timeout", "3600", NULL), 0);
}

TEST(settings_win_over_the_machine)
{
    cleanup(config_free_p) struct config *config = own_config("timeout_s = 7\nmemory_mb = 100\n");

    assert_true(config->timeout_s == 7);
    assert_int_equal(config->memory_mb, 100);
    assert_int_equal(config->disk_mb, 64);
    assert_int_equal(config->inodes, 64 * 256);
}

TEST(a_ceiling_that_somebody_set_holds_for_own_runs)
{
    cleanup(config_free_p) struct config *config =
        own_config("max_timeout_s = 40\nmax_memory_mb = 600\nmax_pids = 10\n");
    cleanup_error struct error err = {0};

    assert_true(config->timeout_s == 40); /* and not none */
    assert_int_equal(config->memory_mb, 600);
    assert_int_equal(config->pids, 10);
    assert_true(config_set_flag(config, "timeout", "41", &err) < 0);
    assert_non_null(strstr(err.hint, "max_timeout_s"));
}

TEST(servers_keep_their_defaults)
{
    cleanup(config_free_p) struct config *config = config_new();

    assert_int_equal(config_load(config, NULL, NULL), 0);
    assert_true(config->timeout_s == 30 && config->memory_mb == 1024 && config->pids == 256);
    assert_true(config->max_timeout_s == 300 && config->max_memory_mb == 2048);
}

UNIT_MAIN_WITH(group_setup, group_teardown)
